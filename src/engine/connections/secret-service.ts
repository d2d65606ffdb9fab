// Tested by test/keyring/keychain.long.test.ts.
import { connect, type Socket } from "node:net";
import host from "node:process";

/*
 * What a session's D-Bus declares of its keychain (the Secret Service of freedesktop.org), asked in
 * its own words: the library that reads and writes keys tells it in prose alone.
 */

export type SecretServiceState =
  | "no_bus"
  | "silent_bus"
  | "no_provider"
  | "no_collection"
  | "locked"
  | "hung"
  | "open";

const BUS = { name: "org.freedesktop.DBus", path: "/org/freedesktop/DBus" };
const SECRETS = { name: "org.freedesktop.secrets", path: "/org/freedesktop/secrets" };
const SERVICE = "org.freedesktop.Secret.Service";
const COLLECTION = "org.freedesktop.Secret.Collection";
const PROPERTIES = "org.freedesktop.DBus.Properties";
/** In place of a path: there is none. */
const NONE = "/";

const METHOD_CALL = 1;
const METHOD_RETURN = 2;
const ERROR = 3;
/** Nothing is started by being asked. */
const NO_AUTO_START = 2;

/**
 * Looks, and changes nothing.
 * @param limitMs for all of it
 * @returns undefined where the bus cannot be spoken to so, or the keychain refuses to say
 */
export async function secretServiceState(
  address: string,
  limitMs: number,
): Promise<SecretServiceState | undefined> {
  const path = socketPath(address);
  if (path === undefined) return undefined;

  const bus = new Bus(connect(path));
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    bus.end();
  }, limitMs);

  try {
    return await ask(bus);
  } catch {
    if (!bus.isConnected) return "no_bus";
    if (!bus.hasAnswered) return "silent_bus";
    return isLate ? "hung" : undefined;
  } finally {
    clearTimeout(timer);
    bus.end();
  }
}

async function ask(bus: Bus): Promise<SecretServiceState | undefined> {
  await bus.greet();
  await bus.call({ to: BUS, of: BUS.name, method: "Hello" });

  const owner = { to: BUS, of: BUS.name, method: "NameHasOwner", words: [SECRETS.name] };
  const isThere = await bus.call(owner);
  if (isThere?.readUInt32LE(0) === 0) return "no_provider";

  const alias = await bus.call({
    to: SECRETS,
    of: SERVICE,
    method: "ReadAlias",
    words: ["default"],
  });
  const path = alias?.toString("utf8", 4, 4 + alias.readUInt32LE(0));
  if (path === NONE) return "no_collection";
  if (path === undefined) return undefined;

  const collection = { name: SECRETS.name, path };
  const words = [COLLECTION, "Locked"];
  // A variant: its signature, and then the word.
  const isLocked = await bus.call({ to: collection, of: PROPERTIES, method: "Get", words });
  return isLocked && (isLocked.readUInt32LE(4) === 1 ? "locked" : "open");
}

/** Of the first address that is a socket; its values are percent-encoded. */
function socketPath(address: string): string | undefined {
  for (const one of address.split(";")) {
    const [kind, values = ""] = one.split(/:(.*)/s);
    const value = (name: string) =>
      values
        .split(",")
        .find((each) => each.startsWith(`${name}=`))
        ?.slice(name.length + 1);
    const abstract = value("abstract");
    const path = abstract === undefined ? value("path") : `\0${abstract}`;
    if (kind === "unix" && path !== undefined) return decodeURIComponent(path);
  }
  return undefined;
}

interface Call {
  readonly to: { readonly name: string; readonly path: string };
  /** The interface of the method. */
  readonly of: string;
  readonly method: string;
  readonly words?: readonly string[];
}

/** One call after the other. */
class Bus {
  readonly #socket: Socket;
  #heard: Buffer = Buffer.alloc(0);
  #serial = 0;
  isConnected = false;
  hasAnswered = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("connect", () => {
      this.isConnected = true;
    });
    // Who waits for more is told by the end of the iteration.
    socket.on("error", () => undefined);
  }

  async greet(): Promise<void> {
    const user = Buffer.from(String(host.getuid?.() ?? 0)).toString("hex");
    this.#socket.write(`\0AUTH EXTERNAL ${user}\r\n`);
    await this.#until(() => this.#heard.includes("\r\n"));
    this.#heard = Buffer.alloc(0);
    this.#socket.write("BEGIN\r\n");
  }

  /** The body of the answer; undefined where that is an error. */
  async call(call: Call): Promise<Buffer | undefined> {
    this.#serial += 1;
    this.#socket.write(message(call, this.#serial));
    for (;;) {
      await this.#until(() => this.#heard.length >= lengthOf(this.#heard));
      const end = lengthOf(this.#heard);
      const { 1: kind } = this.#heard;
      const body = this.#heard.subarray(end - this.#heard.readUInt32LE(4), end);
      this.#heard = this.#heard.subarray(end);
      if (kind === METHOD_RETURN) return body;
      if (kind === ERROR) return undefined;
    }
  }

  async #until(isEnough: () => boolean): Promise<void> {
    while (!isEnough()) {
      const more = await new Promise<Buffer>((resolve, reject) => {
        this.#socket.once("data", resolve);
        this.#socket.once("close", () => reject(new Error("the bus has ended the connection")));
      });
      this.hasAnswered = true;
      this.#heard = Buffer.concat([this.#heard, more]);
    }
  }

  end(): void {
    this.#socket.destroy();
  }
}

const HEAD_BYTES = 16;

const aligned = (length: number, to: number): number => Math.ceil(length / to) * to;

/** Of the message that begins there; more than there is while its head has not come. */
const lengthOf = (bytes: Buffer): number =>
  bytes.length < HEAD_BYTES
    ? HEAD_BYTES
    : aligned(HEAD_BYTES + bytes.readUInt32LE(12), 8) + bytes.readUInt32LE(4);

function message({ method, of, to, words = [] }: Call, serial: number): Buffer {
  const body = joined(words.map(text), 4);
  const fields = joined(
    [
      field(1, "o", text(to.path)),
      field(2, "s", text(of)),
      field(3, "s", text(method)),
      field(6, "s", text(to.name)),
      field(8, "g", signature("s".repeat(words.length))),
    ],
    8,
  );

  const head = Buffer.from([0x6c, METHOD_CALL, NO_AUTO_START, 1]);
  const numbers = [body.length, serial, fields.length].map(number);
  return joined([Buffer.concat([head, ...numbers, fields]), body], 8);
}

const field = (code: number, type: string, value: Buffer): Buffer =>
  Buffer.concat([Buffer.from([code]), signature(type), value]);

const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

const text = (value: string): Buffer =>
  Buffer.concat([number(Buffer.byteLength(value)), Buffer.from(`${value}\0`)]);

const signature = (value: string): Buffer =>
  Buffer.from(`${String.fromCharCode(value.length)}${value}\0`);

/** Each begins at a multiple of so many bytes. */
const joined = (parts: readonly Buffer[], to: number): Buffer =>
  parts.reduce(
    (all, part) => Buffer.concat([all, Buffer.alloc(aligned(all.length, to) - all.length), part]),
    Buffer.alloc(0),
  );
