import type { Person, Typed } from "./person.ts";
import type { Command } from "./story.ts";
import type { Datasets } from "./world.ts";

const FREE: Omit<Typed, "argv"> = {
  kind: "other",
  file: undefined,
  department: undefined,
  cap: null,
  limit: null,
  owned: null,
};

type Of<Kind extends Command["kind"]> = Extract<Command, { readonly kind: Kind }>;

const option = (name: string, value: string | number | null): string[] => (value === null ? [] : [name, String(value)]);

/** What somebody types. @returns undefined where there is nothing yet that it could be about */
export function typed(person: Person, command: Command, { segments }: Datasets): Typed | undefined {
  switch (command.kind) {
    case "search":
      return search(person, command, segments[command.segment] as string);
    case "refresh":
      return refresh(person, command);
    case "count":
      return { ...FREE, argv: ["count", "--department", segments[command.segment] as string] };
    case "again":
      return person.open?.typed;
    case "resume":
      return { ...FREE, argv: ["resume", "--yes"] };
    default: {
      const ids = person.sold.flatMap((sold) => sold.ids);
      const id = ids[command.nth % Math.max(1, ids.length)];
      if (id === undefined) return undefined;
      return { ...FREE, argv: command.kind === "forget" ? ["forget", id, "--yes"] : ["suppress", "add", id] };
    }
  }
}

function search(person: Person, { cap, concurrency, limit, owned, perPage }: Of<"search">, department: string): Typed {
  const file = `list-${++person.files}.csv`;
  const argv = [
    ...["search", "--department", department, "--per-page", String(perPage), "--yes", "-o", file],
    ...option("--concurrency", concurrency),
    ...option("--max-credits", cap),
    ...option("--limit", limit),
    ...(owned === null ? [] : [`--${owned}`]),
  ];
  return { argv, kind: "search", file, department, cap, limit, owned };
}

function refresh(person: Person, { again, buyChanged, cap, nth, verify }: Of<"refresh">): Typed | undefined {
  const files = [...person.lists.keys()];
  const file = files[nth % Math.max(1, files.length)];
  const list = file === undefined ? undefined : person.lists.get(file);
  if (file === undefined || list === undefined) return undefined;
  const argv = [
    ...["refresh", file, "--yes", ...(again ? ["--again"] : [])],
    ...option("--max-credits", cap),
    ...option("--verify-fields", verify),
    ...(buyChanged && verify !== null && cap !== null ? ["--buy-changed"] : []),
  ];
  return { argv, kind: "refresh", file, department: list.department, cap, limit: null, owned: null };
}
