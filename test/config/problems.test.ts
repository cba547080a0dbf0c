// Mistakes in the settings file of a service.
import { expect, test } from "bun:test";
import { findProblems } from "../../src/config/problems.ts";
import { findExported, parseEnvironmentFile } from "../../src/systemd/environment-file.ts";

const path = "/etc/podkeep.env";
const problemsOf = (text: string) =>
  findProblems({}, [{ path, variables: parseEnvironmentFile(text), ignored: findExported(text) }], {}).problems;

test("lines that systemd ignores, and directories that depend on where the service starts, are problems", () => {
  expect(problemsOf("PODKEEP_PORT=8042\n  export PODKEEP_HOST=::\n# export PODKEEP_X=1\n")).toEqual([
    `${path}: systemd ignores "export PODKEEP_HOST=…"; remove the word export`,
  ]);
  expect(problemsOf("PODKEEP_BACKUP_DIR=backups\nPODKEEP_DATA_DIR=/srv/podkeep\n")).toEqual([
    `${path}: PODKEEP_BACKUP_DIR="backups" is relative to where the service starts; give an absolute path`,
  ]);
});

test("a quote that is not closed is a problem, because it takes the lines after it into the value", () => {
  expect(problemsOf('PODKEEP_BACKUP_DIR="/mnt/usb\nPODKEEP_PORT=9000\n')).toContain(
    `${path}: the value of PODKEEP_BACKUP_DIR goes on in the next line; close its quote`,
  );
});
