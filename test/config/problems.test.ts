// Mistakes in the settings file of a service.
import { expect, test } from "bun:test";
import { findProblems } from "../../src/config/problems.ts";
import { findIgnored, parseEnvironmentFile } from "../../src/systemd/environment-file.ts";

const path = "/etc/podkeep.env";
const problemsOf = (text: string) =>
  findProblems({}, [{ path, variables: parseEnvironmentFile(text), ignored: findIgnored(text) }], {}).problems;

test("lines that systemd ignores, and directories that depend on where the service starts, are problems", () => {
  expect(problemsOf("PODKEEP_PORT=8042\n  export PODKEEP_HOST=::\n# export PODKEEP_X=1\n")).toEqual([
    `${path}: systemd ignores "export PODKEEP_HOST=…"; remove the word export`,
  ]);
  expect(problemsOf("PODKEEP_BACKUP_DIR=backups\nPODKEEP_DATA_DIR=/srv/podkeep\n")).toEqual([
    `${path}: PODKEEP_BACKUP_DIR="backups" is relative to where the service starts; give an absolute path`,
  ]);
});

test("a first setting that a byte order mark hides from systemd is a problem, a comment there is none", () => {
  for (const word of ["", "export "]) {
    expect(problemsOf(`\uFEFF${word}PODKEEP_PORT=8042\nPODKEEP_HOST=::\n`)).toEqual([
      `${path}: systemd ignores "PODKEEP_PORT=…" after a byte order mark; save the file as UTF-8 without BOM`,
    ]);
  }
  expect(problemsOf("\uFEFF# A comment\nPODKEEP_PORT=8042\n")).toEqual([]);
});

test("a quote that is not closed is a problem, because it takes the lines after it into the value", () => {
  expect(problemsOf('PODKEEP_BACKUP_DIR="/mnt/usb\nPODKEEP_PORT=9000\n')).toContain(
    `${path}: the value of PODKEEP_BACKUP_DIR goes on in the next line; close its quote`,
  );
});
