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
  readonly hashes: Numbers;
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
// e4a06ac8ffc9ce59029cad598358273095e2a29d811ca3a911e8b91acfc47271
const CODE = `
AGFzbQEAAAABPgdgAAF/YAF/AX9gAn9/AX9gB39/f39/f38Bf2AFf39/f38Bf2AFf39/f38AYA5/f39/f39/f39/f3
9/fwF/AwsKAQIAAAMEBQAABgUDAQAABhoFfwFBAAt/AUEAC38BQQALfwFBAAt/AUEACwdNCAVmb3VuZAAHBWVuZGVk
AAgEc2NhbgAEBmhhc2hlcwAGCnN0b3BwZWRSb3cAAg1zdG9wcGVkQ29sdW1uAAMDY3N2AAkGbWVtb3J5AgAK5BkKtg
MCBH8BeyAAQQFqIQADQCAA/QAEACIF/QwiIiIiIiIiIiIiIiIiIiIi/SMgBf0MXFxcXFxcXFxcXFxcXFxcXP0j/VAg
Bf0MICAgICAgICAgICAgICAgIP0m/VD9ZCECIAX9DCwsLCwsLCwsLCwsLCwsLCz9I/1kIQMgAkUEQCABQQJyIAEgAx
shASAAQRBqIQAMAQsgAUECciABIANBASACaCIBdEEBa3EbIQMgACABaiICLQAAQSJGBEAgAkEBakECdCADcg8LIAIt
AABB3ABHBEBBfw8LAkAgAi0AASIBQfUARgRAIAJBAmohAQNAIAEgAkEGakgEQEF/IQAgAS0AACIEQTBrQQlNBH9BAQ
UgBEEgckHhAGtBBkkLRQ0DIAFBAWohAQwBCwsgAkEGaiEADAELIAFBIkYiAEUEQCABQdwARiEACyAARQRAIAFBL0Yh
AAsgAEUEQCABQeIARiEACyAARQRAIAFB5gBGIQALIABFBEAgAUHuAEYhAAsgAEUEQCABQfIARiEACyACQQJqQX8gAC
ABQfQARiAAGxshAAsgAEEATgRAIANBAXIhAQwBCwtBfwu4BgEDfyAALQAAIgJBIkYEQCAAEABBAnUPCyACQdsARyAC
QfsAR3EEQAJ/IAAiAS0AAEE5SwRAIABBBGogACgCACIBQfTk1asGRiABQe7qseMGRnINARogAEEFakF/IAFB5sKxmw
dGBH8gAC0ABEHlAEYFQQALGwwBCyABQQFqIAEgAS0AAEEtRhsiAi0AAEEwRgRAIAJBAWohAAUgAiEAA0AgAC0AAEEw
a0EJTQRAIABBAWohAAwBCwsLQX8gACACRg0AGiAALQAAQS5GBEAgAEEBaiICIQADQCAALQAAQTBrQQlNBEAgAEEBai
EADAELC0F/IAAgAkYNARoLIAAtAABBIHJB5QBGBEAgAEEBaiICLQAAIQMgAEECaiACIANBLUYgA0ErRnIbIgIhAANA
IAAtAABBMGtBCU0EQCAAQQFqIQAMAQsLQX8gACACRg0BGgsgACABa0EQTgRAIwBBAnIkAAsgAAsPCyABQSBGBEBBfw
8LIABBAWoiAC0AAEEgTQRAIwBBAXIkAANAIAAtAAAiA0EKRiADQSBGciADQQ1GciADQQlGcgRAIABBAWohAAwBCwsL
IAJBAmoiAyAALQAARgRAIABBAWoPCwNAIAJB+wBGBEAgAC0AAEEiRwRAQX8PCyAAEABBAnUiAEEASARAQX8PCyAALQ
AAQSBNBEAjAEEBciQAA0AgAC0AACIEQQpGIARBIEZyIARBDUZyIARBCUZyBEAgAEEBaiEADAELCwsgAC0AAEE6RwRA
QX8PCyAAQQFqIgAtAABBIE0EQCMAQQFyJAADQCAALQAAIgRBCkYgBEEgRnIgBEENRnIgBEEJRnIEQCAAQQFqIQAMAQ
sLCwsgACABQQFqEAEiAEEASARAQX8PCyAALQAAQSBNBEAjAEEBciQAA0AgAC0AACIEQQpGIARBIEZyIARBDUZyIARB
CUZyBEAgAEEBaiEADAELCwsgAyAALQAARgRAIABBAWoPCyAALQAAQSxGBEAgAEEBaiIALQAAQSBNBEAjAEEBciQAA0
AgAC0AACIEQQpGIARBIEZyIARBDUZyIARBCUZyBEAgAEEBaiEADAELCwsMAQsLQX8LBAAjAgsEACMDC+ABAQR/IAJB
AXRBAmpBAnQhCkEAJAADQCAAIAFIIAYgCEpxBH8gAC0AAEHdAEcFQQALBEACQCAAIAIgAyAEIAVBCGoQBSIHQQBIBE
AjAEEEciQADAELIAUgAEFAajYCACAFIAdBQGo2AgQgByEAA0AgAC0AAEEsRgR/QQEFIAAtAAAiCUEKRiAJQSBGciAJ
QQ1GciAJQQlGcgsEQCAAQQFqIQAMAQsLIAAgB0EBakcEfyAALQAAQd0ARwVBAAsEQCMAQQFyJAALIAhBAWohCCAFIA
pqIQUMAgsLCyAAJAEgCAvBAwEFfyAALQAAQfsARwRAQX8PC0EBIQcgAEEBaiEAA0AgASAJSgRAIARBADYCAAJAIAdF
DQAgAC0AAEEgTQRAIwBBAXIkAANAIAAtAAAiBUEKRiAFQSBGciAFQQ1GciAFQQlGcgRAIABBAWohAAwBCwsLIAIgAy
gCBGohCCACIAMoAgBqIQYgACEFA0AgBkEIaiAITAR/IAUpAwAgBikDAFEFQQALBEAgBUEIaiEFIAZBCGohBgwBCwsD
QCAGIAhIBH8gBS0AACAGLQAARgVBAAsEQCAFQQFqIQUgBkEBaiEGDAELCyAGIAhIDQAgBS0AAEEiRgR/IAUQAAUgBU
EAEAFBAnQLIgBBAEgEQEF/DwsgBS0AAEH7AEYEQCMAQQRyJAALIAQgBUFAajYCACAEIABBgAJrNgIEIABBAnUiAC0A
AEEgTQRAIwBBAXIkAANAIAAtAAAiBUEKRiAFQSBGciAFQQ1GciAFQQlGcgRAIABBAWohAAwBCwsLIAAtAABB/QBGBE
BBACEHBSAALQAAQSxHBEBBfw8LCyAAQQFqIQALIAlBAWohCSAEQQhqIQQgA0EEaiEDDAELC0F/IAAgBxsLvAMBCX8g
AUEBdEECakECdCEMA0AgAiALSgRAIABBCGogA0EDdGoiASgCAEFAayEHIAEoAgRBgAJqIgVBAnVBAWshCCAAKAIIQX
9HIgEEQCAHQcAASiEBCyABBEAgBy0AAEEiRiEBCyAEQQA2AggCQCABRSAFQQFxciAHQQFqIgUgCE5yDQBBxbvyiHgh
BkGM5Z66eSEBQe347OACIQlBACEKA0AgBSAISARAIAogBS0AACINciEKIAYgDXNBk4OACGwhBiABIA1zQZXTx94FbC
IBIAFBD3ZzIQEgCSANc0G52ujLAmwiCSAJQQ12cyEJIAVBAWohBQwBCwsgCkH/AEoNACAEIAYgCCAHa0EBa3MiBSAF
QRB2c0HrlK+veGwiBSAFQQ12c0G13MqVfGwiBSAFQRB2czYCACAEIAEgBmoiBSAFQRB2c0HrlK+veGwiBSAFQQ12c0
G13MqVfGwiBSAFQRB2czYCBCAEIAEgCWoiASABQRB2c0HrlK+veGwiASABQQ12c0G13MqVfGwiASABQRB2c0EQdiIB
QQEgARs2AggLIAtBAWohCyAAIAxqIQAgBEEMaiEEDAELCwsEACMACwQAIwEL+AYBB38gAUEBdEECakECdCERIAwhDw
NAIAMgC0oEQCAAIAIgC0ECdGooAgAgEWxqQQhqIRIgD0UEQCANJAQLIAskAiASKAIAQX9GBEAgDSQBQQIPCwNAIAUg
D0oEQCAPQQBKBEAgDSAIOgAAIA1BAWohDQsCQCAEIA9BAnRqKAIAIgFBAEgEf0EABSASIAFBA3RqKAIAC0UNACASIA
FBA3RqIgEoAgRBgAJqIhNBAnUhECABKAIAQUBrIg4tAAAhASAOKAIAIQwgAUEiRgRAIA4tAAEhFCAHRSIBRQRAIAYg
FGotAABFIQELIAEEfyAHQQJIBH9BAAUgDiEBAn8DQCABIBBIBEBBASABLQAAQTtGDQIaIAFBAWohAQwBCwtBAAsLRQ
UgAQshDCATQQJxQQBHIgEEQCAIQSxGIQELIAFFBEAgFEEgRiEBCyABRQRAIBBBAmstAABBIEYhAQsgE0EBcUEBIAwb
RQRAIAFFIgwgDmohEyAQIA5rIAxBAXRrIRRBACEBA0AgASAUSARAIAEgDWogASATav0ABAD9CwQAIAFBEGohAQwBCw
sgDSAQIA5rIAxBAXRraiENDAILIBRB3ABHQQAgDBsEfyANIQwgDiEBAn8DQCABIBBIBEAgAS0AAEHcAEYEf0F/IAFB
AWoiAS0AAEEiRw0DGiAMQSI6AAAgDEEBagUgDAsiDkEBaiEMIA4gAS0AADoAACABQQFqIQEMAQsLIAwLBUF/CyIBQQ
BOBEAgASENDAILBSAKRSABQfsARnEEQCMEJAFBAg8FIAxB7uqx4wZGBEAMAwUgDEHmwrGbB0YgDEH05NWrBkZyBH9B
AQUgECAOQQFqIA4gDi0AAEEtRhsiAUYEf0EBBSABLQAAQTBGIBAgDmtBAUpxCwR/QQAFA0AgAS0AAEEwa0EJTQRAIA
FBAWohAQwBCwsgASAQTgsLBEAgECAOayEMQQAhAQNAIAEgDEgEQCABIA1qIAEgDmr9AAQA/QsEACABQRBqIQEMAQsL
IA0gECAOa2ohDQwECwsLCyAPJAMgDSQBQQEPCyAPQQFqIQ8MAQsLIA0jBEYgBUEBRnEEQCANQaLEADsBACANQQJqIQ
0LIAkEfyANQQ06AAAgDUEBagUgDQsiAUEBaiENIAFBCjoAACALQQFqIQtBACEPDAELCyANJAFBAAs=
`;
