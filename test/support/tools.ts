/**
 * Whether what needs a tool is left out because it is not there. Where all of them are installed nothing is: with CI set, on
 * Linux, a tool that is missing fails its tests (`.ci/run` installs them).
 */
export const isLeftOut = (isThere: boolean): boolean =>
  !isThere && !(process.env.CI && process.platform === "linux");
