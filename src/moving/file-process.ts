// The process that reads one file from its standard input, and ends.
import { APPLICATION_ID } from "../db/sqlite/file.ts";
import { isSqlite, openForeign } from "../db/sqlite/foreign.ts";
import { type Moving, nothingFrom } from "../domain/moving-in.ts";
import { decodeOpml, NotOpmlError, OpmlError, readOpml } from "../domain/opml.ts";
import { DomainError } from "../errors.ts";
import { readUpTo } from "../read-up-to.ts";
import { describeSize } from "../sizes.ts";
import { readAppDatabase } from "./databases.ts";
import { isDense } from "./dense.ts";
import { writeMoving } from "./lines.ts";
import { readExport } from "./podkeep-file.ts";

/** Bytes of a text file. An export of ten years with 20 plays a day has three quarters of it. */
const MOST_TEXT = 64 * 1024 * 1024;

/** Prints what the file has, in lines. @param most bytes. @throws DomainError "invalid" or "too_large" */
export async function readFileHere(most: number): Promise<void> {
  const bytes = await readUpTo(Bun.stdin.stream(), most);
  if (bytes === null) throw tooLarge(most);
  const moving = read(bytes);
  for (const line of writeMoving(moving)) await Bun.write(Bun.stdout, line);
}

const tooLarge = (most: number) => new DomainError("too_large", `The file is larger than ${describeSize(most)}`);

/** By its bytes, not by its name. */
function read(bytes: Uint8Array): Moving {
  if (isSqlite(bytes)) return readDatabase(bytes);
  if (bytes.length > MOST_TEXT) throw tooLarge(MOST_TEXT);
  const start = new TextDecoder().decode(bytes.subarray(0, 100));
  if (!/^\s*\{/.test(start)) return readList(bytes);
  if (isDense(bytes)) {
    throw new DomainError("invalid", "The file is JSON of more values than podkeep's export has");
  }
  return readExport(new TextDecoder().decode(bytes));
}

/** Where a SQLite database has the id of the program that made it, in bytes. */
const ID_PLACE = 68;

function readDatabase(bytes: Uint8Array): Moving {
  if (bytes.length > 100 && Buffer.from(bytes.subarray(ID_PLACE, ID_PLACE + 4)).readUInt32BE() === APPLICATION_ID) {
    const advice = "restore it with podkeep backup restore, or take the export of the account's page";
    throw new DomainError("invalid", `The database is podkeep's own: ${advice}`);
  }
  try {
    return readAppDatabase(openForeign(bytes), bytes.length);
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new DomainError("invalid", "The database is damaged: export it again", { cause: error });
  }
}

const UNKNOWN =
  "The file is none of those that podkeep reads: OPML, its own export, a database of AntennaPod or gPodder";

function readList(bytes: Uint8Array): Moving {
  try {
    const feeds = readOpml(decodeOpml(bytes));
    return { ...nothingFrom("an OPML file"), feeds: feeds.map((feed) => ({ ...feed, guid: null })) };
  } catch (error) {
    if (error instanceof NotOpmlError) throw new DomainError("invalid", UNKNOWN);
    if (error instanceof OpmlError) throw new DomainError("invalid", error.message);
    throw error;
  }
}
