export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memory_gib: number;
  readonly system: string;
  readonly node: string;
  readonly commit: string;
}
export interface Row {
  readonly id: string;
  readonly part?: string;
  readonly work: string;
  readonly yardstick: string;
  readonly target: string;
  readonly unit?: string;
  readonly measured?: number;
  readonly measured_min?: number;
  readonly measured_max?: number;
  readonly verdict: "meets" | "misses" | "not measured";
  readonly remark?: string;
  readonly form?: string;
}
export interface Results {
  readonly date: string;
  readonly form?: string;
  readonly machine: Machine;
  readonly rows: readonly Row[];
  readonly series: Readonly<Record<string, readonly Readonly<Record<string, number>>[]>>;
  readonly seconds?: Readonly<Record<string, number>>;
  readonly carried?: readonly string[];
}
export interface OpenedResults {
  readonly name: string;
  readonly results: Results | undefined;
}
export function openResults(
  run: {
    readonly date: string;
    readonly form: string;
    readonly families: readonly string[];
    readonly whole: boolean;
    readonly covers: Readonly<Record<string, readonly string[]>>;
  },
  folder?: string,
): OpenedResults;
export function resultNames(folder?: string): string[];
export function formOf(results: Results | undefined): string | undefined;
export function rowName(row: Row): string;
export function mergeResults(
  earlier: Results | undefined,
  run: Results,
  order: readonly string[],
): Results;
export function earlierResults(results: Results, folder?: string): Results[];
export function newestResults(folder?: string): Results | undefined;
export function loadResults(name: string, folder?: string): Results | undefined;
export function saveResults(results: Results, folder?: string, name?: string): string;
export function machineText(machine: Machine): string;
export function markdown(results: Results): string;
export function terminalTable(rows: readonly Row[]): string;
