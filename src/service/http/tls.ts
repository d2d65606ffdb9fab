import { X509Certificate } from "node:crypto";
import { unwatchFile, watchFile } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Server as NodeServer } from "node:http";
import type { Server } from "node:https";
import type { TlsFiles } from "./options.ts";
import type { ServiceLog } from "./telemetry.ts";

export type TlsPair = Awaited<ReturnType<typeof readTls>>;

class TlsError extends Error {
  override readonly name = "TlsError";
}

const LOOK_MS = 5_000;

export async function readTls({ cert, key }: TlsFiles, now: number) {
  // It takes 5 MB, and who serves plain HTTP needs none of it.
  const { createSecureContext } = await import("node:tls");
  const [certPem, keyPem] = await Promise.all([readPem(cert), readPem(key)]);
  const pair = { cert: certPem, key: keyPem, minVersion: "TLSv1.2" } as const;
  const certificate = parsed(cert, () => new X509Certificate(certPem));
  parsed(`${key} with ${cert}`, () => createSecureContext(pair));
  if (Date.parse(certificate.validTo) < now)
    throw new TlsError(`${cert} ended on ${certificate.validTo}`);
  return pair;
}

async function readPem(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new TlsError(`cannot read ${path}: ${(error as NodeJS.ErrnoException).code ?? error}`, {
      cause: error,
    });
  }
}

function parsed<Value>(what: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === "ERR_OSSL_X509_KEY_VALUES_MISMATCH"
        ? "the key is not the certificate's"
        : /PASSPHRASE|INTERRUPTED_OR_CANCELLED|bad decrypt/i.test(`${code} ${message}`)
          ? "the key has a passphrase; write it without one, readable to this user alone"
          : `it cannot be used as PEM (${message})`;
    throw new TlsError(`${what}: ${why}`, { cause: error });
  }
}

/**
 * Serves renewed files from the next connection on; those that do not fit change nothing.
 * @returns ends it
 */
export function followTls(
  server: NodeServer,
  files: TlsFiles,
  now: () => number,
  log: ServiceLog,
): () => void {
  const renew = (): void => {
    readTls(files, now()).then(
      (pair) => {
        (server as Server).setSecureContext(pair);
        log.event("TLS certificate renewed", { file: files.cert });
      },
      (error: unknown) => {
        log.fault("tls", error);
        files.failed?.(error as TlsError);
      },
    );
  };

  const paths = [files.cert, files.key];
  for (const path of paths) watchFile(path, { interval: LOOK_MS, persistent: false }, renew);

  return () => {
    for (const path of paths) unwatchFile(path, renew);
  };
}
