import { writeFileSync } from "node:fs";
import { openApiText } from "./document.ts";

// npm run openapi: writes the document to the file named by the first argument.
const file = process.argv[2];
if (file === undefined) {
  process.stderr.write("usage: node dist/shared/openapi/write.js FILE\n");
  process.exitCode = 2;
} else {
  writeFileSync(file, openApiText());
}
