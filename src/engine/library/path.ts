import { hash } from "node:crypto";
import { join } from "node:path";

/** @param serviceId the service's address, with its vendor's file, or `sample:FOLDER` */
export function libraryPath(stateDir: string, serviceId: string, mode: "live" | "test"): string {
  const host = /^https?:\/\/([^/:#]+)/.exec(serviceId)?.[1] ?? serviceId.split(":", 1)[0] ?? "";
  const mark = hash("sha256", serviceId).slice(0, 8);
  const name = `${host.replace(/[^\w.-]/g, "_")}-${mark}${mode === "test" ? "-test" : ""}.db`;
  return join(stateDir, "library", name);
}
