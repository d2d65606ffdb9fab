// Tested by test/cli/output-files.test.ts.
import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Writable } from "node:stream";
import { counted } from "../../shared/contract/text.ts";
import { type CliError, failed } from "../../shared/errors.ts";
import { askedFields, collectColumns } from "../../shared/rows/columns.ts";
import type { Page, View } from "../../shared/rows/page.ts";
import { errorCode, FILE_MODE, remove } from "../runs/disk.ts";
import type { Guard } from "../runs/plan.ts";
import {
  checkRows,
  formName,
  isWhole,
  lateFormat,
  type Output,
  type Rendering,
  viewMaker,
  type Written,
} from "./formats.ts";
import { openPacker, type Packer } from "./packing.ts";
import { clearLeftovers, naming } from "./publish.ts";
import { enterOutput, type OutputPlace } from "./register.ts";

const WRITE_BYTES = 1 << 18;

type FileTarget = Readonly<{
  path: string;
  rendering: Rendering;
  guard: Guard;
  place: OutputPlace;
}>;

/**
 * A file that appears whole. Where a later page brings
 * another column it is written again from the run.
 */
export class FileOutput implements Output {
  readonly #target: FileTarget;
  readonly #part: string;
  readonly #fieldCheck: ReturnType<typeof askedFields>;
  #sha256 = "";
  #file: FileHandle | undefined;
  #view: View | undefined;
  #hash: Hash = createHash("sha256");
  #bytes = 0;
  #cut = 0;
  #packer: Packer | undefined;
  readonly #buffer = Buffer.allocUnsafeSlow(WRITE_BYTES);
  #filled = 0;

  private constructor(target: FileTarget) {
    const { path, place, rendering } = target;
    this.#target = target;
    this.#part = join(dirname(path), `.${basename(path)}.${place.name}.part`);
    this.#fieldCheck = askedFields(rendering.fields);
  }

  static async open(
    path: string,
    rendering: Rendering,
    guard: Guard,
    place: OutputPlace,
  ): Promise<FileOutput> {
    await clearLeftovers(path);
    const output = new FileOutput({ path, rendering, guard, place });
    await output.#begin(rendering.fields);
    return output;
  }

  async #begin(fields: readonly string[] | undefined): Promise<void> {
    await this.#file?.close();
    await remove(this.#part);
    // "wx": nothing that somebody put there meanwhile is written through.
    this.#file = await open(this.#part, "wx", FILE_MODE);
    this.#hash = createHash("sha256");
    this.#bytes = 0;
    this.#filled = 0;
    this.#packer = openPacker(this.#target.rendering.packing);

    const rendering = { ...this.#target.rendering, fields };
    this.#view = isWhole(rendering.format)
      ? undefined
      : (await viewMaker(rendering.format))(rendering, false);
  }

  /** Collects small pages, so that each write, which another thread does, is worth handing over. */
  async #put(data: Buffer | string): Promise<void> {
    const bytes = typeof data === "string" ? Buffer.from(data, "utf8") : data;
    if (this.#filled + bytes.length > WRITE_BYTES) await this.#drain();
    if (bytes.length > WRITE_BYTES) await this.#pack(bytes);
    else this.#filled += bytes.copy(this.#buffer, this.#filled);
  }

  async #drain(): Promise<void> {
    const bytes = this.#buffer.subarray(0, this.#filled);
    this.#filled = 0;
    await this.#pack(bytes);
  }

  async #pack(bytes: Buffer): Promise<void> {
    await this.#store(this.#packer === undefined ? [bytes] : await this.#packer.push(bytes));
  }

  async #store(chunks: readonly Uint8Array[]): Promise<void> {
    for (const chunk of chunks) {
      this.#hash.update(chunk);
      this.#bytes += chunk.length;
      for (let offset = 0; offset < chunk.length; ) {
        const written = await this.#file?.write(chunk, offset, chunk.length - offset);
        offset += written?.bytesWritten ?? 0;
      }
    }
  }

  get notices(): readonly string[] {
    const cut =
      this.#cut === 0
        ? []
        : [`notice: ${counted(this.#cut, "text")} longer than a cell of a spreadsheet: cut`];
    return [...this.#fieldCheck.notices(), ...cut];
  }

  async write(page: Page): Promise<void> {
    this.#fieldCheck.look(page);
    if (this.#view !== undefined) await this.#put(this.#view.page(page));
  }

  async prepare(pages: () => AsyncIterable<Page>): Promise<Written> {
    const { guard, path, rendering } = this.#target;
    await checkRows(this.#fieldCheck.rows(), path, guard);

    const { format, kind, fields } = rendering;
    const whole = await lateFormat(format);
    if (whole !== undefined) {
      const { surveyColumns } = await import("./whole/survey.ts");
      const survey = await surveyColumns({ pages, kind, columns: fields });
      const rows = { ...survey, pages, onCut: () => this.#cut++ };
      for await (const chunk of whole.bytes(rows, `${this.#part}.scratch`)) await this.#put(chunk);
    }

    if (this.#view !== undefined && this.#view.unseen.size > 0) {
      await this.#begin(await collectColumns(pages(), kind));
      for await (const page of pages()) await this.#put(this.#view.page(page));
    }

    if (this.#view !== undefined) await this.#put(this.#view.end());
    await this.#drain();
    if (this.#packer !== undefined) await this.#store(await this.#packer.end());
    await this.#file?.sync();
    await this.#close();
    this.#sha256 = this.#hash.digest("hex");

    return {
      file: path,
      format: formName(rendering),
      bytes: this.#bytes,
      sha256: this.#sha256,
      added: null,
    };
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async publish(): Promise<void> {
    const { guard, path, place, rendering } = this.#target;
    const { disk } = place;

    await enterOutput(path, { kind: rendering.kind, format: formName(rendering) }, place, [
      this.#sha256,
    ]);

    await naming(
      path,
      guard.overwrite
        ? disk.rename(this.#part, path, "output")
        : disk.place(this.#part, path, "output"),
    );
  }

  async abort(): Promise<void> {
    await this.#close();
    await remove(this.#part);
    await remove(`${this.#part}.scratch`);
  }
}

const pipeClosed = (): CliError => failed.pipe_closed("the reader closed the pipe");

const failureOf = (error: unknown): unknown =>
  ["EPIPE", "ERR_STREAM_DESTROYED"].includes(errorCode(error) ?? "") ? pipeClosed() : error;

export interface StreamOptions {
  readonly stream: Writable;
  readonly rendering: Rendering;
  readonly guard: Guard;
  readonly interrupted: AbortSignal;
}

/** A page counts as written when the reader took it. */
export async function openStream({
  stream,
  rendering,
  guard,
  interrupted,
}: StreamOptions): Promise<Output> {
  const packer = openPacker(rendering.packing);
  const fieldCheck = askedFields(rendering.fields);
  const view = (await viewMaker(rendering.format))(rendering, true);
  let failure: unknown;
  const onError = (error: unknown): void => {
    failure ??= error;
  };

  stream.on("error", onError);

  const put = (data: Uint8Array | string): Promise<void> => {
    if (failure !== undefined) return Promise.reject(failureOf(failure));
    if (stream.destroyed) return Promise.reject(pipeClosed());
    if (data.length === 0) return Promise.resolve();

    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(interrupted.reason);
      interrupted.addEventListener("abort", onAbort, { once: true });
      stream.write(data, (error) => {
        interrupted.removeEventListener("abort", onAbort);
        if (error === null || error === undefined) resolve();
        else reject(failureOf(error));
      });
    });
  };

  const pack = async (data: Buffer | string): Promise<void> => {
    if (packer === undefined) return put(data);
    for (const chunk of await packer.push(Buffer.from(data))) await put(chunk);
  };

  const release = async (): Promise<void> => void stream.off("error", onError);

  return {
    get notices() {
      return fieldCheck.notices();
    },

    write(page) {
      fieldCheck.look(page);
      return pack(view.page(page));
    },

    async prepare() {
      await pack(view.end());
      for (const chunk of (await packer?.end()) ?? []) await put(chunk);
      await checkRows(fieldCheck.rows(), undefined, guard);
      return undefined;
    },

    publish: release,
    abort: release,
  };
}
