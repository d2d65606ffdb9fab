import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { tempDir } from "../support/client.ts";
import { user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { type Served, startServed } from "../support/served.ts";
import { generatedDataset } from "../support/service.ts";
import { BIN, spawnUser } from "../support/spawned.ts";

const dir = tempDir("headcount-tls-");
const file = (name: string): string => join(dir, name);

function certificate(name: string): void {
  const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1"];
  const curve = asTyped`-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2`;
  const out = ["-keyout", file(`${name}.key`), "-out", file(`${name}.pem`)];
  execFileSync("openssl", ["req", "-x509", ...curve, ...subject, ...out], { stdio: "ignore" });
}
certificate("one");
certificate("two");

const flags = async (): Promise<string[]> => [
  ...[
    "--data",
    join(tempDir(), "data"),
    "--dataset",
    await generatedDataset(300),
    "--console",
    "link",
  ],
  ...["--tls-cert", file("served.pem"), "--tls-key", file("served.key"), "--log"],
];
const serveCertificate = (name: string): void => {
  copyFileSync(file(`${name}.pem`), file("served.pem"));
  copyFileSync(file(`${name}.key`), file("served.key"));
};

const subjectOf = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(
      { host: "127.0.0.1", port: Number(new URL(url).port), rejectUnauthorized: false },
      () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      },
    ).on("error", reject);
  });

let served: Served | undefined;
afterEach(async () => {
  await served?.stop();
  served = undefined;
});

describe("serve with a certificate of its own", () => {
  long(
    "the built client counts and buys over it, and only where it trusts the certificate",
    async () => {
      serveCertificate("one");
      served = await startServed(await flags());
      expect(served.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
      const trusting = user(served.url, served.key, { NODE_EXTRA_CA_CERTS: file("one.pem") });
      const search = ["search", "--all", "--limit", "25", "--yes", "-o", "people.csv"];
      expect(await spawnUser(trusting, search)).toMatchObject({ code: 0 });
      expect(
        readFileSync(trusting.file("people.csv"), "utf8").trim().split("\n").length,
      ).toBeGreaterThan(25);
      const wary = await spawnUser(
        user(served.url, served.key),
        asTyped`search --all --limit 25 --yes`,
      );
      expect(wary).toMatchObject({ code: 8, stderr: expect.stringContaining("self-signed") });
      // The key was not sent: nothing but the first search was ever asked for.
      expect(served.stderr().match(/"route":"\/v1\/person\/search"/g)).toHaveLength(1);
      expect(await served.stop()).toBe(0);
    },
  );

  long(
    "a renewed certificate is served from the next connection on; one that does not fit changes nothing",
    async () => {
      serveCertificate("one");
      served = await startServed(await flags());
      expect(await subjectOf(served.url)).toBe("one");
      copyFileSync(file("two.key"), file("served.key"));
      await expect
        .poll(served.stderr, { timeout: 20_000 })
        .toContain("the renewed certificate cannot be used");
      expect(await subjectOf(served.url)).toBe("one");
      copyFileSync(file("two.pem"), file("served.pem"));
      await expect.poll(() => subjectOf((served as Served).url), { timeout: 20_000 }).toBe("two");
      expect(await served.stop()).toBe(0);
    },
  );

  test("beyond loopback it has its console, with cookies for TLS alone, and warns of nothing", async () => {
    serveCertificate("one");
    served = await startServed([...(await flags()), "--host", "0.0.0.0"]);
    expect(served.stderr()).not.toMatch(/in clear|no console/);
    const { port } = new URL(served.url);
    const page = spawnSync(
      "curl",
      asTyped`-sk -o /dev/null -w %{http_code} https://127.0.0.1:${port}/console/`,
    );
    expect(String(page.stdout)).toBe("200");
  });

  test("a connection that never shakes hands is closed, and others are served meanwhile", async () => {
    serveCertificate("one");
    served = await startServed(await flags());
    const plain = spawnSync("curl", ["-s", `http://127.0.0.1:${new URL(served.url).port}/healthz`]);
    expect(plain.status).toBe(52);
    const health = spawnSync("curl", ["-sk", `${served.url}/healthz`], { encoding: "utf8" });
    expect(health.stdout).toContain('"status":"ok"');
  });

  test.each([
    ["a key of another certificate", ["one.pem", "two.key"], "the key is not the certificate's"],
    ["a file that is not there", ["one.pem", "none.key"], "cannot read"],
    ["the key in the certificate's place", ["one.key", "one.key"], "cannot be used as PEM"],
  ])("%s is refused before anything is made", (_, [cert = "", key = ""], why) => {
    const data = join(tempDir(), "data");
    const refused = spawnSync(
      process.execPath,
      [BIN, "serve", "--data", data, "--tls-cert", file(cert), "--tls-key", file(key)],
      { encoding: "utf8" },
    );
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining(why) });
    expect(spawnSync("ls", [data]).status).not.toBe(0);
  });
});
