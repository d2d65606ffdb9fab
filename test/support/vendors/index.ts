import { type ApolloOptions, apollo } from "./apollo.ts";
import { type CoresignalOptions, coresignal } from "./coresignal.ts";
import { type CrustdataOptions, crustdata } from "./crustdata.ts";
import { type ExploriumOptions, explorium } from "./explorium.ts";
import { type PdlOptions, pdl } from "./pdl.ts";
import { type ProspeoOptions, prospeo } from "./prospeo.ts";
import { type Habits, type RunningVendor, runVendor, type Vendor } from "./shared.ts";

interface Options {
  pdl: PdlOptions;
  coresignal: CoresignalOptions;
  prospeo: ProspeoOptions;
  apollo: ApolloOptions;
  crustdata: CrustdataOptions;
  explorium: ExploriumOptions;
}

const VENDORS: { readonly [Name in keyof Options]: Vendor<Options[Name]> } = {
  pdl,
  coresignal,
  prospeo,
  apollo,
  crustdata,
  explorium,
};

export type VendorName = keyof Options;
export const VENDOR_NAMES = Object.keys(VENDORS) as readonly VendorName[];

/** A vendor on a port of loopback, with its habits as they are asked for; the rest is as its pages say. */
export function startVendor<Name extends VendorName>(
  name: Name,
  options: Partial<Habits & Options[Name]> = {},
): Promise<RunningVendor<Options[Name]>> {
  return runVendor<Options[Name]>(VENDORS[name], options);
}
