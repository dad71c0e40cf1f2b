//! The connected clients. When all seats are taken, a new client replaces one of them. A client that connects and sends nothing
//! must not keep probes waiting, or the platform restarts a healthy worker.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;

/// Most clients that are connected at a time.
pub(super) const SEATS: usize = 64;

/// Connected clients, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Clients {
    seated: Vec<Client>,
    next: u64,
}

#[derive(Debug)]
struct Client {
    number: u64,
    from: IpAddr,
    has_asked: Arc<AtomicBool>,
    /// Dropping it takes the seat away and ends the connection.
    _keep: oneshot::Sender<()>,
}

/// A connection's side of its seat.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) number: u64,
    /// True if the client's request has arrived.
    pub(super) has_asked: Arc<AtomicBool>,
    /// Ready once a different client has the seat.
    pub(super) lost: oneshot::Receiver<()>,
}

impl Clients {
    /// Gives a seat to a client from this address. If all are taken, one client loses its seat first.
    pub(super) fn seat(&mut self, from: IpAddr) -> Seat {
        if self.seated.len() >= SEATS {
            let clients = self.seated.iter().map(|it| (it.from, it.has_asked.load(Ordering::Relaxed)));
            let evicted = client_to_evict(&clients.collect::<Vec<_>>());
            self.seated.remove(evicted);
        }
        let number = self.next;
        self.next += 1;
        let (keep, lost) = oneshot::channel();
        let has_asked = Arc::new(AtomicBool::new(false));
        self.seated.push(Client { number, from, has_asked: Arc::clone(&has_asked), _keep: keep });
        Seat { number, has_asked, lost }
    }

    /// Frees the seat of a connection that has ended.
    pub(super) fn free(&mut self, number: u64) {
        self.seated.retain(|client| client.number != number);
    }
}

/// Returns the index of the client that makes way. `clients` begins with the oldest. Among those of the most frequent address, it
/// is the oldest that has not asked yet, else the oldest. So one address alone cannot push out clients of others.
fn client_to_evict(clients: &[(IpAddr, bool)]) -> usize {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    clients.iter().for_each(|(from, _)| *counts.entry(*from).or_default() += 1);
    let most = counts.values().copied().max();
    let crowd = || clients.iter().enumerate().filter(|(_, (from, _))| counts.get(from).copied() == most);
    let silent = crowd().find(|(_, (_, has_asked))| !has_asked);
    silent.or_else(|| crowd().next()).map_or(0, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const STRANGER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    #[test]
    fn the_oldest_silent_client_of_the_address_that_most_come_from_makes_way() {
        let table: [(&[(IpAddr, bool)], usize); 5] = [
            (&[(PROBE, false), (STRANGER, false), (STRANGER, false)], 1),
            (&[(PROBE, false), (STRANGER, true), (STRANGER, false)], 2),
            (&[(PROBE, false), (STRANGER, true), (STRANGER, true)], 1),
            (&[(PROBE, true), (PROBE, false), (PROBE, false)], 1),
            (&[(PROBE, true)], 0),
        ];
        for (clients, expected) in table {
            assert_eq!(client_to_evict(clients), expected, "{clients:?}");
        }
    }

    #[test]
    fn there_are_never_more_clients_than_seats() {
        let mut clients = Clients::default();
        let mut probe = clients.seat(PROBE);
        let mut strangers: Vec<_> = (0..3 * SEATS).map(|_| clients.seat(STRANGER)).collect();
        assert_eq!(clients.seated.len(), SEATS);
        let stays = |seat: &mut Seat| seat.lost.try_recv() == Err(oneshot::error::TryRecvError::Empty);
        assert!(stays(&mut probe), "another address");
        let staying = strangers.iter_mut().filter_map(|seat| stays(seat).then_some(seat.number));
        let latest = (2 * SEATS as u64 + 2)..=(3 * SEATS as u64);
        assert_eq!(staying.collect::<Vec<_>>(), latest.collect::<Vec<_>>());
        clients.free(probe.number);
        assert_eq!(clients.seated.len(), SEATS - 1);
    }
}
