import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { user } from "../support/export.ts";

const JOB = {
  jobs: { legal: { schedule: "@weekly", filters: { department: "Legal" }, max_credits: 1, output: "l.csv" } },
};

describe("what a unit and a crontab hold", () => {
  const u = () => user("http://127.0.0.1:9", "hc_live_0000000000000000000000");
  const place = (dir: string, name: string): string => {
    mkdirSync(join(dir, name));
    writeFileSync(join(dir, name, "jobs.jsonc"), JSON.stringify(JOB));
    return join(dir, name, "jobs.jsonc");
  };

  test.each(["systemd", "cron"])("jobs %s refuses a newline in the folder or in a variable", async (form) => {
    const me = u();
    const file = place(me.dir, "a\n* * * * * touch x");
    expect(await me.run(["jobs", form, "--file", file])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("holds a control character"),
    });
    const plain = place(me.dir, "plain");
    expect(await me.run(["jobs", form, "--file", plain])).toMatchObject({ code: 0 });
    const env = { HEADCOUNT_CONNECTION: "work\n* * * * * touch x" };
    expect(await me.run(["jobs", form, "--file", plain], { env })).toMatchObject({ code: 2, stdout: "" });
  });

  test("serve --print-unit refuses one in --data", async () => {
    const ran = await u().run(["serve", "--print-unit", "--data", "a\nExecStartPre=/bin/true"]);
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("holds a control character") });
  });

  test.each(["systemd", "cron"])("jobs %s names a line of the key file that only a shell reads", async (form) => {
    const me = u();
    const plain = place(me.dir, "plain");
    writeFileSync(me.file("keys.env"), "# key\nexport HEADCOUNT_API_KEY=hc_live_1\n");
    const ran = await me.run(["jobs", form, "--file", plain, "--keys", "keys.env"]);
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("keys.env:2: ") });
    expect(ran.stderr).toContain("sed -i");
    writeFileSync(me.file("keys.env"), "HEADCOUNT_API_KEY=hc_live_1\n");
    expect(await me.run(["jobs", form, "--file", plain, "--keys", "keys.env"])).toMatchObject({ code: 0 });
  });
});

test("a filter file may have comments and trailing commas, as a file of jobs", async () => {
  const me = user("http://127.0.0.1:9", "hc_live_0000000000000000000000");
  writeFileSync(
    me.file("f.json"),
    '{\n  // whom\n  "title": ["a,]", "//b",], /* where */\n  "country": "france",\n}\n',
  );
  const ran = await me.run(["segment", "save", "fr", "-f", "f.json"]);
  expect(ran).toMatchObject({ code: 0 });
  expect((await me.run(["segment", "show", "fr"])).stdout).toContain("//b");
  writeFileSync(me.file("f.json"), '{"country": "france", "country": "spain",}');
  expect(await me.run(["segment", "save", "fr2", "-f", "f.json"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("duplicate key"),
  });
  writeFileSync(me.file("f.json"), '{"country": "france",,}');
  expect(await me.run(["segment", "save", "fr2", "-f", "f.json"])).toMatchObject({ code: 2 });
});
