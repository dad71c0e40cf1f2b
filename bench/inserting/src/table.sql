PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE orders (id TEXT, cents INTEGER);
