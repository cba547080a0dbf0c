// Reading a file that somebody moves in with: OPML, podkeep's export, or an app's database.
import { isSqlite } from "../db/sqlite/foreign.ts";
import { type Moving, movingFrom } from "../domain/moving.ts";
import { decodeOpml, OpmlError, readOpmlInTurns } from "../domain/opml.ts";
import { DomainError } from "../errors.ts";
import { type DatabaseOptions, readDatabaseApart } from "./database.ts";
import { readExport } from "./podkeep-file.ts";

/** Bytes of a text file. An export of ten years of listening has a quarter of it. */
const MOST_TEXT = 64 * 1024 * 1024;

/**
 * Reads a file by what its bytes are, whatever its name.
 * @throws DomainError "invalid" if it is no such file, or damaged; "too_large"
 */
export async function readMovingFile(bytes: Uint8Array, options: DatabaseOptions): Promise<Moving> {
  if (bytes.length > options.most) throw tooLarge(options.most);
  if (isSqlite(bytes)) return readDatabaseApart(bytes, options);
  if (bytes.length > MOST_TEXT) throw tooLarge(MOST_TEXT);
  if (/^[\ufeff\s]*\{/.test(new TextDecoder().decode(bytes.subarray(0, 100)))) {
    return readExport(new TextDecoder().decode(bytes));
  }
  try {
    const feeds = await readOpmlInTurns(decodeOpml(bytes));
    return { ...movingFrom("an OPML file"), feeds: feeds.map((feed) => ({ ...feed, guid: null })) };
  } catch (error) {
    if (error instanceof OpmlError) throw new DomainError("invalid", error.message);
    throw error;
  }
}

const tooLarge = (most: number) =>
  new DomainError("too_large", `The file is larger than ${Math.floor(most / 1024 / 1024)} MB`);
