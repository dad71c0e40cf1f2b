// Asks before following a link from another site.

import { $, say } from './dom.js';

const { hash } = location;
let where = hash;
try {
  where = decodeURIComponent(hash);
} catch { /* It is shown undecoded. */ }
say($('where'), where.slice(1) || '/');
$('open').href = `/?link${hash}`;
