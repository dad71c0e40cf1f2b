// The question before a link of another site is followed.

import { $, say } from './dom.js';

const { hash } = location;
let where = hash;
try {
  where = decodeURIComponent(hash);
} catch { /* It is shown as it is. */ }
say($('where'), where.slice(1) || '/');
$('open').href = `/?link${hash}`;
