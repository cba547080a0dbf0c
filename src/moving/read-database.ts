// The process that reads one database from its standard input, and ends.
import { isSqlite, openForeign } from "../db/sqlite/foreign.ts";
import { DomainError } from "../errors.ts";
import { readAppDatabase } from "./databases.ts";

/** Prints what the database has, as JSON. @throws DomainError "invalid" or "too_large" */
export async function readDatabase(most: number): Promise<void> {
  const bytes = await readInput(most);
  if (!isSqlite(bytes)) throw new DomainError("invalid", "The file is not a SQLite database");
  const moving = read(bytes);
  await Bun.write(Bun.stdout, JSON.stringify(moving));
}

async function readInput(most: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of Bun.stdin.stream()) {
    size += chunk.length;
    if (size > most) throw new DomainError("too_large", `The file is larger than ${Math.floor(most / 1024 / 1024)} MB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function read(bytes: Uint8Array) {
  try {
    return readAppDatabase(openForeign(bytes), bytes.length);
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new DomainError("invalid", "The database is damaged: export it again", { cause: error });
  }
}
