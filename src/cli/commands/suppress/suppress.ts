import { keptPeople } from "../../../app/keep/forget/find.ts";
import { stateDir } from "../../../engine/connections/paths.ts";
import { suppressionFolder } from "../../../engine/runs/suppression.ts";
import type { Context } from "../../../shared/context.ts";
import type { Command } from "../../options.ts";
import { addListCommands } from "./list-commands.ts";

const CHANGING = `reads runs library suppression
  writes suppression library
  exits 5 6 9`;

export function register(program: Command, context: Context): void {
  const suppress = program
    .command("suppress")
    .description(
      "Leave people out of everything that headcount writes, counts and shows of what you " +
        "own, from now on. The list holds keyed hashes and names nobody. Offline and free.",
    )
    .examples(`
  $ headcount suppress add network.example/in/ada-lovelace p_0000000042 --note "objected, ticket \
118"
  $ headcount suppress add northwind.example
  $ printf 'network.example/in/ada-lovelace\\n' | headcount suppress import -
  $ headcount suppress list
  $ headcount suppress check network.example/in/ada-lovelace
  $ headcount suppress remove northwind.example

An address is cut to its profile, and of another site to its domain, which stands for \
everybody who works there; any other word is an id or the last part of an address. A name, and \
a word of letters alone, is looked up among the people you have, and refused where nobody or \
several have it. What was read, and how many it hides, is said. People who are named in a search \
are not bought; people who merely match are paid for, and left out.
See also: headcount forget`);

  addListCommands(suppress, context, {
    name: "headcount suppress",
    touches: {
      add: CHANGING,
      remove: CHANGING,
      import: `reads given runs library suppression
        writes suppression library
        exits 5 6 9`,
      list: `reads suppression
        exits 5 6 9`,
      check: `reads runs library suppression
        writes library
        exits 5 6 9`,
    },
    folder: async () => suppressionFolder(stateDir(context)),
    kept: keptPeople,
  });
}
