//! AWS behind the proxy of a company that puts its own certificate in place of AWS's.

use std::fs::write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::proxy::{Fate, Proxy};
use crate::support::running::{Running, built, signal, until};
use crate::support::{Aws, Ran, command};

const URL: &str = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders";

struct Company {
    aws: Aws,
    folder: TempDir,
    proxy: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Company {
    /// All hosts are the local AWS.
    fn start() -> Self {
        let (aws, folder) = (Aws::with_orders(false), TempDir::new().expect("a folder"));
        let hosts = ["sqs", "monitoring"].map(|service| format!("{service}.eu-west-1.amazonaws.com"));
        let made = rcgen::generate_simple_self_signed(hosts).expect("a certificate");
        write(folder.path().join("company.pem"), made.cert.pem()).expect("it is written");
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
        let chain = vec![CertificateDer::from(made.cert.der().to_vec())];
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().expect("TLS").with_no_client_auth();
        let tls = TlsAcceptor::from(Arc::new(config.with_single_cert(chain, key).expect("a pair")));
        let listener = aws.wait(TcpListener::bind("127.0.0.1:0")).expect("a port is free");
        let proxy = format!("http://{}", listener.local_addr().expect("it is bound"));
        let asked = Arc::<Mutex<Vec<String>>>::default();
        // It names itself as the host, as the local AWS wants it.
        let target = Proxy::start(&aws.url, |_, _| Fate::Answered).url.replace("http://", "");
        let lines = Arc::clone(&asked);
        aws.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (tls, target, lines) = (tls.clone(), target.clone(), Arc::clone(&lines));
                tokio::spawn(async move {
                    let mut client = BufReader::new(client);
                    let mut line = String::new();
                    client.read_line(&mut line).await?;
                    lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.trim_end().to_owned());
                    while line.trim_end() != "" {
                        line.clear();
                        client.read_line(&mut line).await?;
                    }
                    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
                    let (mut client, mut server) =
                        (tls.accept(client).await?, TcpStream::connect(target).await?);
                    copy_bidirectional(&mut client, &mut server).await
                });
            }
        });
        Self { aws, folder, proxy, asked }
    }

    fn bundle(&self) -> String {
        self.folder.path().join("company.pem").display().to_string()
    }

    fn send(&self, variables: &[(&str, &str)]) -> Ran {
        let mut command = command("send --queue orders --region eu-west-1 --body 1 --timeout 5");
        command.env("AWS_ACCESS_KEY_ID", "local").env("AWS_SECRET_ACCESS_KEY", "local");
        Ran::of(command.env("HTTPS_PROXY", &self.proxy).envs(variables.iter().copied()))
    }
}

fn profile(folder: &Path, bundle: &str) -> String {
    let path = folder.join("config");
    write(&path, format!("[profile company]\nregion = eu-west-1\nca_bundle = {bundle}\n"))
        .expect("it is written");
    path.display().to_string()
}

#[test]
fn the_command_and_a_worker_reach_aws_through_the_proxy_of_a_company() {
    let company = Company::start();
    let bundle = company.bundle();
    // Without the bundle, nobody vouches for the proxy's certificate.
    company.send(&[]).ended(1).stderr_has("certificate");
    company.send(&[("AWS_CA_BUNDLE", &bundle)]).ended(0);
    let settings = profile(company.folder.path(), &bundle);
    company.send(&[("AWS_CONFIG_FILE", &settings), ("AWS_PROFILE", "company")]).ended(0);
    let sent = || company.aws.attribute("orders", "ApproximateNumberOfMessages");
    assert_eq!(sent(), "2");
    let asked = company.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(asked[0], "CONNECT sqs.eu-west-1.amazonaws.com:443 HTTP/1.1");

    let worker = Command::new(built("orders"))
        .env("REDRIVE_QUEUE_URL", URL)
        .envs([
            ("AWS_REGION", "eu-west-1"),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
        ])
        .envs([("https_proxy", &company.proxy), ("AWS_CA_BUNDLE", &bundle)])
        .stdout(Stdio::null())
        .spawn();
    let mut worker = Running(worker.expect("it starts"));
    until("both are letters", || {
        let letters = company.aws.attribute("orders-dead", "ApproximateNumberOfMessages");
        letters == "2"
    });
    signal("-TERM", &worker.0);
    assert_eq!(worker.0.wait().expect("the child is ours").code(), Some(0));
}

#[test]
fn an_invalid_proxy_or_bundle_ends_the_command_and_a_worker() {
    let lines = [
        (
            "AWS_CA_BUNDLE",
            "/no/such.pem",
            r#"AWS_CA_BUNDLE is "/no/such.pem", allowed: a file of certificates in PEM"#,
        ),
        (
            "HTTPS_PROXY",
            "socks5://proxy:1080",
            r#"HTTPS_PROXY is "socks5://proxy:1080", allowed: http://HOST:PORT"#,
        ),
    ];
    for (name, value, expected) in lines {
        let mut command = command("send --queue orders --region eu-west-1 --body 1");
        command.env("AWS_ACCESS_KEY_ID", "local").env("AWS_SECRET_ACCESS_KEY", "local");
        let ran = Ran::of(command.env(name, value));
        ran.printed(2, "").stderr_has(expected);
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        let worker = Command::new(built("orders"))
            .envs([("AWS_REGION", "eu-west-1"), ("REDRIVE_QUEUE_URL", URL), (name, value)])
            .output()
            .expect("it starts and ends");
        let told =
            String::from_utf8_lossy(&worker.stderr).into_owned() + &String::from_utf8_lossy(&worker.stdout);
        assert_eq!(worker.status.code(), Some(1), "{told}");
        assert!(told.replace('\\', "").contains(expected), "{told}");
    }
}
