// Tested by test/unit/shared/written-json.test.ts.
import { parseStrictJson, type StrictJson } from "./contract/strict-json.ts";

/** Comments and trailing commas, beside texts, in which nothing is one. */
const NONE_IN_JSON = [
  /("(?:[^"\\]|\\.)*")|\/\/[^\r\n]*|\/\*.*?\*\//gs,
  /("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/gs,
];

/**
 * JSON of a file that people write: as strict as a body of the API, since a key that is there twice
 * says two things; comments and trailing commas are left out. A slip is told by line and column.
 */
export function readWrittenJson(text: string, name: string, mostKeys?: number): StrictJson {
  // With spaces instead, so that each slip is where it was.
  const plain = NONE_IN_JSON.reduce(
    (before, form) =>
      before.replace(form, (part, own?: string) => own ?? part.replace(/[^\r\n]/g, " ")),
    text,
  );
  return parseStrictJson(Buffer.from(plain), name, mostKeys);
}
