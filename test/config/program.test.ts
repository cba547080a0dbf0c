// How the server was started, and what a setting takes then.
import { expect, test } from "bun:test";
import { adviseToSet, findStart, type Start } from "../../src/config/program.ts";

test.each<[Record<string, string>, Parameters<typeof findStart>[1], Start]>([
  [{ NOTIFY_SOCKET: "/run/x", STATE_DIRECTORY: "/var/lib/podkeep" }, { compiled: true, container: false }, "service"],
  [{ NOTIFY_SOCKET: "/run/user/1000/x" }, { compiled: true, container: false }, "own service"],
  [{}, { compiled: true, container: true }, "container"],
  [{}, { compiled: true, container: false }, "executable"],
  [{}, { compiled: false, container: true }, "source"],
])("with the variables %j, as a program %j, the server was started as %p", (env, program, start) => {
  expect(findStart(env, program)).toBe(start);
});

test.each<[Start, string]>([
  ["service", "set PODKEEP_X=1 in /etc/podkeep.env, then run sudo systemctl restart podkeep"],
  ["own service", "set PODKEEP_X=1 in ~/.config/podkeep.env, then run systemctl --user restart podkeep"],
  ["container", "create the container again, with -e PODKEEP_X=1"],
  ["executable", "stop it, and start it with PODKEEP_X=1 podkeep serve"],
  ["source", "stop it, and start it with PODKEEP_X=1 npm start"],
])("started as %p, a setting takes a sentence that can be followed", (start, advice) => {
  expect(adviseToSet("PODKEEP_X=1", start)).toBe(advice);
});
