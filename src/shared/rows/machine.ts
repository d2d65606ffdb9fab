// Tested by test/unit/output-csv-bytes.test.ts and test/unit/rows-broken.test.ts.
// The memory in which rows are scanned and written as CSV, by the code of rows.as. It is fast from
// the first row on: a page of 1,000 is over before Node has compiled as much of JavaScript.

/** Where a page begins; behind it are zeros. */
export const ORIGIN = 64;
const ZEROS = 32;
const PAGE_BYTES = 65_536;
/** A larger memory is given up where pages are small again: it never shrinks. */
const KEPT_BYTES = 2 ** 24;
const MOST_BYTES = 2 ** 31;

type Numbers = (...numbers: number[]) => number;

interface Code {
  readonly memory: { readonly buffer: ArrayBuffer; readonly grow: (pages: number) => number };
  readonly scan: Numbers;
  readonly found: Numbers;
  readonly ended: Numbers;
  readonly csv: Numbers;
  readonly stoppedRow: Numbers;
  readonly stoppedColumn: Numbers;
}

/** As much of it as is used; nothing under `node --jitless`. */
interface WebAssemblyApi {
  readonly Module: new (code: Buffer) => object;
  readonly Instance: new (module: object) => { readonly exports: object };
}

const compiled = new Map<string, object>();

/**
 * A memory of its own beside code that `npm run wasm` has made, in Base64.
 * @returns undefined where there is no WebAssembly, or not as much of it, or no room
 */
export function instanceOf<Exports extends object>(code: string): Exports | undefined {
  const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };
  try {
    const module = compiled.get(code) ?? new WebAssembly.Module(Buffer.from(code, "base64"));
    compiled.set(code, module);
    return new WebAssembly.Instance(module).exports as Exports;
  } catch {
    return undefined;
  }
}

export class RowMachine {
  readonly code: Code;
  /** All of its memory, in bytes and in numbers of four: anew whenever it has grown. */
  bytes = Buffer.alloc(0);
  words = new Int32Array(0);
  #held: Buffer | undefined;

  static #shared: RowMachine | undefined;

  private constructor(code: Code) {
    this.code = code;
    this.#look();
  }

  /**
   * The one of this process, which is used up to the next call: Node sets gigabytes of addresses
   * aside for each. @returns undefined where there is no WebAssembly, or no room: rows are parsed
   */
  static for(page: Buffer): RowMachine | undefined {
    const size = RowMachine.#shared?.bytes.length ?? Number.POSITIVE_INFINITY;
    if (size <= Math.max(KEPT_BYTES, page.length * 8)) return RowMachine.#shared;
    const code = instanceOf<Code>(CODE);
    RowMachine.#shared = code && new RowMachine(code);
    return RowMachine.#shared;
  }

  /** @returns the first place behind the page, undefined: there is no room for it */
  hold(page: Buffer): number | undefined {
    const end = ORIGIN + page.length;
    if (!this.reserve(end + ZEROS)) return undefined;
    if (this.#held !== page) {
      page.copy(this.bytes, ORIGIN);
      this.bytes.fill(0, end, end + ZEROS);
      this.#held = page;
    }
    return aligned(end + ZEROS);
  }

  /** @returns whether there are so many bytes; `bytes` and `words` are others then */
  reserve(size: number): boolean {
    const more = size - this.bytes.length;
    if (more <= 0) return true;
    if (size > MOST_BYTES) return false;
    try {
      // By an eighth more: each growth costs a call of the system.
      this.code.memory.grow(Math.ceil((more + size / 8) / PAGE_BYTES));
    } catch {
      return false;
    }
    this.#look();
    return true;
  }

  #look(): void {
    const { buffer } = this.code.memory;
    this.bytes = Buffer.from(buffer);
    this.words = new Int32Array(buffer);
  }
}

export const aligned = (place: number): number => (place + 15) & ~15;

// Made of rows.as by `npm run wasm`, of SHA-256
// d91b9d7b459fadb26834672fc0f215f7e543970096dc093b66e8cdeee66a38fa
const CODE = `
AGFzbQEAAAABNgZgAAF/YAF/AX9gAn9/AX9gB39/f39/f38Bf2AFf39/f38Bf2AOf39/f39/f39/f39/f38BfwMKCQ
ECAAADBAAABQUDAQAABhoFfwFBAAt/AUEAC38BQQALfwFBAAt/AUEACwdEBwVmb3VuZAAGBWVuZGVkAAcEc2NhbgAE
CnN0b3BwZWRSb3cAAg1zdG9wcGVkQ29sdW1uAAMDY3N2AAgGbWVtb3J5AgAKphYJtgMCBH8BeyAAQQFqIQADQCAA/Q
AEACIF/QwiIiIiIiIiIiIiIiIiIiIi/SMgBf0MXFxcXFxcXFxcXFxcXFxcXP0j/VAgBf0MICAgICAgICAgICAgICAg
IP0m/VD9ZCECIAX9DCwsLCwsLCwsLCwsLCwsLCz9I/1kIQMgAkUEQCABQQJyIAEgAxshASAAQRBqIQAMAQsgAUECci
ABIANBASACaCIBdEEBa3EbIQMgACABaiICLQAAQSJGBEAgAkEBakECdCADcg8LIAItAABB3ABHBEBBfw8LAkAgAi0A
ASIBQfUARgRAIAJBAmohAQNAIAEgAkEGakgEQEF/IQAgAS0AACIEQTBrQQlNBH9BAQUgBEEgckHhAGtBBkkLRQ0DIA
FBAWohAQwBCwsgAkEGaiEADAELIAFBIkYiAEUEQCABQdwARiEACyAARQRAIAFBL0YhAAsgAEUEQCABQeIARiEACyAA
RQRAIAFB5gBGIQALIABFBEAgAUHuAEYhAAsgAEUEQCABQfIARiEACyACQQJqQX8gACABQfQARiAAGxshAAsgAEEATg
RAIANBAXIhAQwBCwtBfwu4BgEDfyAALQAAIgJBIkYEQCAAEABBAnUPCyACQdsARyACQfsAR3EEQAJ/IAAiAS0AAEE5
SwRAIABBBGogACgCACIBQfTk1asGRiABQe7qseMGRnINARogAEEFakF/IAFB5sKxmwdGBH8gAC0ABEHlAEYFQQALGw
wBCyABQQFqIAEgAS0AAEEtRhsiAi0AAEEwRgRAIAJBAWohAAUgAiEAA0AgAC0AAEEwa0EJTQRAIABBAWohAAwBCwsL
QX8gACACRg0AGiAALQAAQS5GBEAgAEEBaiICIQADQCAALQAAQTBrQQlNBEAgAEEBaiEADAELC0F/IAAgAkYNARoLIA
AtAABBIHJB5QBGBEAgAEEBaiICLQAAIQMgAEECaiACIANBLUYgA0ErRnIbIgIhAANAIAAtAABBMGtBCU0EQCAAQQFq
IQAMAQsLQX8gACACRg0BGgsgACABa0EQTgRAIwBBAnIkAAsgAAsPCyABQSBGBEBBfw8LIABBAWoiAC0AAEEgTQRAIw
BBAXIkAANAIAAtAAAiA0EKRiADQSBGciADQQ1GciADQQlGcgRAIABBAWohAAwBCwsLIAJBAmoiAyAALQAARgRAIABB
AWoPCwNAIAJB+wBGBEAgAC0AAEEiRwRAQX8PCyAAEABBAnUiAEEASARAQX8PCyAALQAAQSBNBEAjAEEBciQAA0AgAC
0AACIEQQpGIARBIEZyIARBDUZyIARBCUZyBEAgAEEBaiEADAELCwsgAC0AAEE6RwRAQX8PCyAAQQFqIgAtAABBIE0E
QCMAQQFyJAADQCAALQAAIgRBCkYgBEEgRnIgBEENRnIgBEEJRnIEQCAAQQFqIQAMAQsLCwsgACABQQFqEAEiAEEASA
RAQX8PCyAALQAAQSBNBEAjAEEBciQAA0AgAC0AACIEQQpGIARBIEZyIARBDUZyIARBCUZyBEAgAEEBaiEADAELCwsg
AyAALQAARgRAIABBAWoPCyAALQAAQSxGBEAgAEEBaiIALQAAQSBNBEAjAEEBciQAA0AgAC0AACIEQQpGIARBIEZyIA
RBDUZyIARBCUZyBEAgAEEBaiEADAELCwsMAQsLQX8LBAAjAgsEACMDC+ABAQR/IAJBAXRBAmpBAnQhCkEAJAADQCAA
IAFIIAYgCEpxBH8gAC0AAEHdAEcFQQALBEACQCAAIAIgAyAEIAVBCGoQBSIHQQBIBEAjAEEEciQADAELIAUgAEFAaj
YCACAFIAdBQGo2AgQgByEAA0AgAC0AAEEsRgR/QQEFIAAtAAAiCUEKRiAJQSBGciAJQQ1GciAJQQlGcgsEQCAAQQFq
IQAMAQsLIAAgB0EBakcEfyAALQAAQd0ARwVBAAsEQCMAQQFyJAALIAhBAWohCCAFIApqIQUMAgsLCyAAJAEgCAvBAw
EFfyAALQAAQfsARwRAQX8PC0EBIQcgAEEBaiEAA0AgASAJSgRAIARBADYCAAJAIAdFDQAgAC0AAEEgTQRAIwBBAXIk
AANAIAAtAAAiBUEKRiAFQSBGciAFQQ1GciAFQQlGcgRAIABBAWohAAwBCwsLIAIgAygCBGohCCACIAMoAgBqIQYgAC
EFA0AgBkEIaiAITAR/IAUpAwAgBikDAFEFQQALBEAgBUEIaiEFIAZBCGohBgwBCwsDQCAGIAhIBH8gBS0AACAGLQAA
RgVBAAsEQCAFQQFqIQUgBkEBaiEGDAELCyAGIAhIDQAgBS0AAEEiRgR/IAUQAAUgBUEAEAFBAnQLIgBBAEgEQEF/Dw
sgBS0AAEH7AEYEQCMAQQRyJAALIAQgBUFAajYCACAEIABBgAJrNgIEIABBAnUiAC0AAEEgTQRAIwBBAXIkAANAIAAt
AAAiBUEKRiAFQSBGciAFQQ1GciAFQQlGcgRAIABBAWohAAwBCwsLIAAtAABB/QBGBEBBACEHBSAALQAAQSxHBEBBfw
8LCyAAQQFqIQALIAlBAWohCSAEQQhqIQQgA0EEaiEDDAELC0F/IAAgBxsLBAAjAAsEACMBC/gGAQd/IAFBAXRBAmpB
AnQhESAMIQ8DQCADIAtKBEAgACACIAtBAnRqKAIAIBFsakEIaiESIA9FBEAgDSQECyALJAIgEigCAEF/RgRAIA0kAU
ECDwsDQCAFIA9KBEAgD0EASgRAIA0gCDoAACANQQFqIQ0LAkAgBCAPQQJ0aigCACIBQQBIBH9BAAUgEiABQQN0aigC
AAtFDQAgEiABQQN0aiIBKAIEQYACaiITQQJ1IRAgASgCAEFAayIOLQAAIQEgDigCACEMIAFBIkYEQCAOLQABIRQgB0
UiAUUEQCAGIBRqLQAARSEBCyABBH8gB0ECSAR/QQAFIA4hAQJ/A0AgASAQSARAQQEgAS0AAEE7Rg0CGiABQQFqIQEM
AQsLQQALC0UFIAELIQwgE0ECcUEARyIBBEAgCEEsRiEBCyABRQRAIBRBIEYhAQsgAUUEQCAQQQJrLQAAQSBGIQELIB
NBAXFBASAMG0UEQCABRSIMIA5qIRMgECAOayAMQQF0ayEUQQAhAQNAIAEgFEgEQCABIA1qIAEgE2r9AAQA/QsEACAB
QRBqIQEMAQsLIA0gECAOayAMQQF0a2ohDQwCCyAUQdwAR0EAIAwbBH8gDSEMIA4hAQJ/A0AgASAQSARAIAEtAABB3A
BGBH9BfyABQQFqIgEtAABBIkcNAxogDEEiOgAAIAxBAWoFIAwLIg5BAWohDCAOIAEtAAA6AAAgAUEBaiEBDAELCyAM
CwVBfwsiAUEATgRAIAEhDQwCCwUgCkUgAUH7AEZxBEAjBCQBQQIPBSAMQe7qseMGRgRADAMFIAxB5sKxmwdGIAxB9O
TVqwZGcgR/QQEFIBAgDkEBaiAOIA4tAABBLUYbIgFGBH9BAQUgAS0AAEEwRiAQIA5rQQFKcQsEf0EABQNAIAEtAABB
MGtBCU0EQCABQQFqIQEMAQsLIAEgEE4LCwRAIBAgDmshDEEAIQEDQCABIAxIBEAgASANaiABIA5q/QAEAP0LBAAgAU
EQaiEBDAELCyANIBAgDmtqIQ0MBAsLCwsgDyQDIA0kAUEBDwsgD0EBaiEPDAELCyANIwRGIAVBAUZxBEAgDUGixAA7
AQAgDUECaiENCyAJBH8gDUENOgAAIA1BAWoFIA0LIgFBAWohDSABQQo6AAAgC0EBaiELQQAhDwwBCwsgDSQBQQAL
`;
