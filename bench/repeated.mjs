// node bench/repeated.mjs FOLDER TIMES DATA: of the dataset of a data folder one in which each person stands so many times, one behind the
// other in public order, in the data folder DATA. Ten times a million take half a minute of CPU where an import takes ten, and it is as large to open, to
// sweep and to look up in; texts are the same ones, and blocks of records are shared, so a page shows the neighbours of whom it should.
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { ROOT } from "./harness.mjs";

const dist = (path) => import(join(ROOT, "dist/dataset", path));
const { currentVersion, FILES, newDraftName, publish } = await dist("layout.js");
const { COLUMNS_MAGIC, KINDS } = await dist("embedded/column-file.js");
const { codesFor } = await dist("embedded/column-writer.js");
const { BLOCKS_MAGIC, BLOCK_NUMBERS, TABLES } = await dist("embedded/block-file.js");
const { RECORDS_A_BLOCK, unpackBlock } = await dist("embedded/blocks.js");
const { isPacked, KEYS_A_BLOCK } = await dist("embedded/key-blocks.js");
const { edgesOf, PEOPLE_A_CHUNK } = await dist("embedded/scan.js");
const { crcOf, SpanFile, SpanWriter } = await dist("embedded/span-file.js");
const { isPlaced, ROW_INDEXES } = await dist("columns.js");

const [, , from = "", timesText = "", to = ""] = process.argv;
const times = Number(timesText);
if (!Number.isSafeInteger(times) || times < 1 || to === "")
  throw new Error("usage: node bench/repeated.mjs FOLDER TIMES DATA");

/** A byte that says that a number is behind it. */
const WIDE = 255;
const WRITE_BYTES = 2 ** 22;

const { folder, meta } = await currentVersion(join(from, "dataset"));
const people = meta.people * times;
if (meta.people % RECORDS_A_BLOCK > 0)
  throw new Error(`people have to be a multiple of ${RECORDS_A_BLOCK}, as ${meta.people} are not`);
const datasetDir = join(to, "dataset");
const draft = join(datasetDir, newDraftName());
mkdirSync(draft, { recursive: true, mode: 0o700 });

async function repeatColumns() {
  const source = await SpanFile.open(join(folder, FILES.columns), COLUMNS_MAGIC);
  const writer = await SpanWriter.create(join(draft, FILES.columns), COLUMNS_MAGIC);
  const columnBytes = await readFile(join(folder, FILES.columns));
  const columns = {};
  for (const [name, header] of Object.entries(source.header.columns)) {
    const { at, width } = header;
    const bytes = bytesOf(columnBytes, at, meta.people * width);
    const own = new KINDS[width](bytes.buffer);
    const size = isPlaced(name) ? header.size * times : header.size;
    const codes = codesFor(size, people);
    for (let person = 0, place = 0; person < own.length; person++) {
      for (let copy = 0; copy < times; copy++)
        codes[place++] = repeated(name, header, own[person], copy);
    }
    columns[name] = {
      ...(await coded(writer, codes, size)),
      ...(await values(source, writer, name)),
    };
  }
  await source.close();
  await writer.finish({ people, columns });
}

/** The code of a long text is its place in the index, where each stands as many times. */
function repeated(name, { size }, code, copy) {
  if (!isPlaced(name)) return code;
  return code === size ? size * times : code * times + copy;
}

async function coded(writer, codes, size) {
  const chunks = Math.ceil(codes.length / PEOPLE_A_CHUNK);
  const [least, most, sums] = [
    codesFor(size, chunks),
    codesFor(size, chunks),
    new Uint32Array(chunks),
  ];
  for (let chunk = 0; chunk < chunks; chunk++) {
    const own = codes.subarray(chunk * PEOPLE_A_CHUNK, (chunk + 1) * PEOPLE_A_CHUNK);
    [least[chunk], most[chunk]] = edgesOf(own);
    sums[chunk] = crcOf(own);
  }
  return {
    size,
    width: codes.BYTES_PER_ELEMENT,
    at: await writer.append(codes),
    sums: await writer.put(sums),
    least: await writer.put(least),
    most: await writer.put(most),
  };
}

async function values(source, writer, name) {
  const { before, numbers, starts, texts } = source.header.columns[name];
  const found = {};
  for (const [part, span] of Object.entries({ numbers, starts, texts }))
    if (span) found[part] = await writer.put(Buffer.from(await source.load(name, span)));
  if (before) {
    const counts = new Uint32Array(await source.load(name, before));
    found.before = await writer.put(counts.map((count) => count * times));
  }
  return found;
}

async function repeatRecords() {
  const path = join(folder, FILES.records);
  const source = await SpanFile.open(path, BLOCKS_MAGIC);
  const writer = await SpanWriter.create(join(draft, FILES.records), BLOCKS_MAGIC);
  const recordBytes = await readFile(path);
  const header = {};
  for (const table of TABLES) {
    const own = source.header[table];
    const load = async (span) => Buffer.from(await source.load(table, span));
    const blocks = new Uint32Array((await load(own.blocks)).buffer);
    const dictionary = own.dictionary && (await load(own.dictionary));
    const read = async (number) => {
      const [low, high, bytes] = blocks.subarray(number * BLOCK_NUMBERS);
      return Buffer.from(bytesOf(recordBytes, low + high * 2 ** 32, bytes).buffer);
    };
    const draftTable = new Table(writer, own.entries);
    const count = blocks.length / BLOCK_NUMBERS;
    if (ROW_INDEXES.includes(table)) {
      const keys = new Keys(table, draftTable);
      for (let number = 0; number < count; number++) {
        const bytes = await read(number);
        const size = Math.min(KEYS_A_BLOCK, own.entries - number * KEYS_A_BLOCK);
        await keys.add(dictionary ? unpackBlock(bytes, dictionary) : bytes, size);
      }
      await keys.end();
    } else {
      const copies = table === "people" ? times : 1;
      for (let number = 0; number < count; number++)
        await draftTable.add(await read(number), copies);
      draftTable.entries = own.entries * copies;
      draftTable.starts = new Uint32Array((await load(own.starts)).buffer);
      draftTable.marks = [await load(own.marks)];
    }
    header[table] = await draftTable.header(dictionary);
  }
  await source.close();
  await writer.finish(header);
}

/** Blocks of a table, collected before they are written. */
class Table {
  blocks = [];
  marks = [];
  starts = [0];
  entries = 0;
  #writer;
  #room = [];
  #waiting = 0;

  constructor(writer) {
    this.#writer = writer;
  }

  async add(bytes, copies = 1) {
    this.#room.push([bytes, copies]);
    this.#waiting += bytes.length;
    if (this.#waiting > WRITE_BYTES) await this.drain();
  }

  async drain() {
    let at = await this.#writer.append(Buffer.concat(this.#room.map(([bytes]) => bytes)));
    for (const [bytes, copies] of this.#room) {
      const sum = crc32(bytes);
      for (let copy = 0; copy < copies; copy++)
        this.blocks.push(at % 2 ** 32, Math.floor(at / 2 ** 32), bytes.length, sum);
      at += bytes.length;
    }
    this.#room = [];
    this.#waiting = 0;
  }

  async header(dictionary) {
    await this.drain();
    return {
      entries: this.entries,
      blocks: await this.#writer.put(Uint32Array.from(this.blocks)),
      starts: await this.#writer.put(Uint32Array.from(this.starts)),
      marks: await this.#writer.put(Buffer.concat(this.marks)),
      dictionary: dictionary && (await this.#writer.put(dictionary)),
    };
  }
}

/** Each entry of an index so many times: of the later ones nothing is stored but that all is as before. */
class Keys {
  #table;
  #name;
  #before = Buffer.alloc(0);
  #keys = [];
  #rids = [];

  constructor(name, table) {
    this.#name = name;
    this.#table = table;
  }

  async add(block, size) {
    const isListed = !isPlaced(this.#name);
    let at = isListed ? 4 * size : 0;
    const number = () => {
      const byte = block[at++];
      if (byte < WIDE) return byte;
      at += 4;
      return block.readUInt32LE(at - 4);
    };
    let head = Buffer.alloc(0);
    let tail;
    for (let entry = 0; entry < size; entry++) {
      const shared = number();
      const more = number();
      head = Buffer.concat([head.subarray(0, shared), block.subarray(at, at + more)]);
      at += more;
      if (isListed) {
        const length = number();
        if (length > 0) {
          tail = block.subarray(at, at + length - 1);
          at += length - 1;
        }
      }
      const key = { head, tail };
      const rid = isListed ? block.readUInt32LE(4 * entry) : 0;
      for (let copy = 0; copy < times; copy++) {
        this.#keys.push(key);
        this.#rids.push(rid * times + copy);
        if (this.#keys.length === KEYS_A_BLOCK) await this.#write();
      }
    }
  }

  async #write() {
    const isListed = !isPlaced(this.#name);
    const [first] = this.#keys;
    const whole = Buffer.concat([first.head, first.tail ?? Buffer.alloc(0)]);
    const mark = whole.subarray(0, sharedBytes(this.#before, whole) + 1);
    this.#table.marks.push(mark);
    this.#table.starts.push(this.#table.starts.at(-1) + mark.length);
    this.#table.entries += this.#keys.length;

    const parts = isListed ? [Buffer.from(Uint32Array.from(this.#rids).buffer)] : [];
    let before;
    for (const key of this.#keys) {
      if (key === before) {
        parts.push(...lengths(key.head.length, 0), ...(isListed ? lengths(0) : []));
        continue;
      }
      const same = before ? sharedBytes(before.head, key.head) : 0;
      parts.push(...lengths(same, key.head.length - same), key.head.subarray(same));
      if (isListed) {
        const isSame = before?.tail.equals(key.tail) === true;
        parts.push(...lengths(isSame ? 0 : key.tail.length + 1), ...(isSame ? [] : [key.tail]));
      }
      before = key;
    }
    const last = this.#keys.at(-1);
    this.#before = Buffer.concat([last.head, last.tail ?? Buffer.alloc(0)]);
    this.#keys = [];
    this.#rids = [];
    const bytes = Buffer.concat(parts);
    const isDense = isPacked(this.#name);
    await this.#table.add(isDense ? deflateRawSync(bytes, { level: 0 }) : bytes);
  }

  async end() {
    if (this.#keys.length > 0) await this.#write();
  }
}

/** Each a byte, or from 255 on that and 4 bytes. */
function lengths(...numbers) {
  return numbers.map((value) => {
    if (value < WIDE) return Buffer.of(value);
    const bytes = Buffer.of(WIDE, 0, 0, 0, 0);
    bytes.writeUInt32LE(value, 1);
    return bytes;
  });
}

function sharedBytes(a, b) {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}

/** A copy, so that it may be read as numbers of any width. */
function bytesOf(file, at, length) {
  return Uint8Array.prototype.slice.call(file, at, at + length);
}

await repeatColumns();
await repeatRecords();
await publish(datasetDir, draft, { ...meta, people, version: `${meta.version}-x${times}` }, 0);
