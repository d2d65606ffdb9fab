import zlib from "node:zlib";

/** Whether this Node writes Zstandard (22.15 and newer). */
export const WRITES_ZSTD = "createZstdCompress" in zlib;
/** A second packing beside gzip, where there is one. */
export const ZST = WRITES_ZSTD ? "zst" : "gz";
