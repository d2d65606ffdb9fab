import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDER = join(ROOT, ".github/workflows");
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

// Nobody has run them: what they name has to be there at least.
test.each(readdirSync(FOLDER))(
  "%s runs scripts that package.json has, and files that are there",
  (name) => {
    const text = readFileSync(join(FOLDER, name), "utf8");
    const run = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, script = ""]) => script);
    for (const script of run) expect(scripts, script).toHaveProperty([script]);
    const files = [
      ...text.matchAll(
        /(?:node|sh|vitest run|dist\/release\/\*) ((?:(?:bin|test|packaging)\/[\w./-]+ ?)+)/g,
      ),
    ];
    const paths = files.flatMap(([, some = ""]) => some.trim().split(" "));
    expect(paths.length).toBeGreaterThan(0);
    for (const path of paths)
      expect(readdirSync(join(ROOT, path, "..")), path).toContain(path.split("/").at(-1));
    // A tab is no YAML, and an action without a version is another one each day.
    expect(text).not.toContain("\t");
    for (const [, action = ""] of text.matchAll(/uses: (\S+)/g))
      expect(action).toMatch(/^[\w-]+\/[\w-]+@v\d+$/);
  },
);
