import { CliError } from "../../shared/errors.ts";
import { installCommand } from "../../shared/packages.ts";

/** Before anything is bought. @throws CliError (exit 2) that names the missing one */
export async function optional<Package>(
  name: string,
  what: string,
  loading: Promise<Package>,
  instead: string,
): Promise<Package> {
  try {
    return await loading;
  } catch (cause) {
    throw new CliError({
      code: "missing_package",
      category: "usage",
      message: `${what} needs the optional package ${name}, which cannot be loaded: ${firstLine(cause)}`,
      hint: `install it (${installCommand(name)}), or ${instead}`,
      cause,
    });
  }
}

const firstLine = (error: unknown): string => (error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : "");
