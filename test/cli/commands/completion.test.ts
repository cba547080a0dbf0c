// Completion in real shells, with the scripts that podkeep prints.
import { Database as Sqlite } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openProgram, PROGRAM } from "../../support/program.ts";

let podkeep: ReturnType<typeof openProgram>;
let token: string;

beforeAll(async () => {
  podkeep = openProgram();
  const bin = join(podkeep.folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "podkeep"), `#!/bin/sh\nexec ${PROGRAM.join(" ")} "$@"\n`);
  chmodSync(join(bin, "podkeep"), 0o755);
  await podkeep.run(["user", "create", "alice"]);
  await podkeep.run(["user", "create", "bob"]);
  token = (await podkeep.run(["token", "issue", "alice", "--label", "my: phone", "--json"])).json.id;
});
afterAll(() => podkeep.close());

function runShell(...command: string[]): string[] {
  const env = {
    PATH: `${join(podkeep.folder, "bin")}:${process.env["PATH"]}`,
    HOME: podkeep.folder,
    PODKEEP_DATA_DIR: podkeep.data,
  };
  const { stdout, stderr } = Bun.spawnSync(command, { env, cwd: podkeep.folder });
  expect(stderr.toString()).toBe("");
  return stdout.toString().split("\n").filter(Boolean).sort();
}

const quote = (words: string[]) => words.map((word) => `'${word}'`).join(" ");

/** For each shell, the values that complete these words, the last one unfinished. */
const SHELLS: Record<string, (words: string[]) => string[]> = {
  bash: (words) =>
    runShell(
      "bash",
      "-c",
      `source <(podkeep completion bash)
       compopt() { echo FILES; }
       COMP_WORDS=(podkeep ${quote(words)}); COMP_CWORD=${words.length}
       _podkeep; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ),
  zsh: (words) =>
    runShell(
      "zsh",
      "-fc",
      `compdef() { [[ $* == "_podkeep podkeep" ]] || exit 9 }
       eval "$(podkeep completion zsh)"
       _describe() { for value in \${(P)2}; do value=\${value//\\\\:/_}; print -r -- "\${value%%:*}"; done }
       _files() { echo FILES }
       words=(podkeep ${quote(words)}); CURRENT=${words.length + 1}
       _podkeep`,
    ),
  fish: (words) =>
    runShell(
      "fish",
      "--no-config",
      "-c",
      `podkeep completion fish | source
       function __fish_complete_path; echo FILES; end
       complete -C 'podkeep ${words.join(" ")}'`,
    ).map((line) => line.split("\t")[0] ?? ""),
};

for (const shell of Object.keys(SHELLS)) {
  const there = Bun.which(shell) !== null;
  if (!there) console.warn(`SKIPPED: completion in ${shell} needs that shell (apt-get install ${shell})`);
  describe.skipIf(!there)(`in ${shell}`, () => testShell(shell));
}

test("completion reads only what it suggests: a damaged table elsewhere doesn't matter", async () => {
  const copy = join(podkeep.folder, "damaged");
  cpSync(podkeep.data, copy, { recursive: true });
  const file = join(copy, "podkeep.db");
  const sqlite = new Sqlite(file);
  sqlite.run(`insert into deletions (user_id, id, subscription, status, cancelled, message, attempts, requested_at, run_after, finished_at)
    select id, 1, 1, 'SUCCESS', 0, null, 0, 1, 1, 1 from users limit 1`);
  const row = sqlite
    .query<{ page: number }, []>("select rootpage as page from sqlite_schema where name = 'deletions'")
    .get();
  sqlite.run("pragma wal_checkpoint(truncate)");
  sqlite.close();
  const start = ((row?.page ?? 0) - 1) * 1024;
  writeFileSync(file, readFileSync(file).fill(0xa5, start, start + 1024));
  const { out } = await podkeep.run(["__complete", "token", "list", "--data-dir", copy, ""]);
  expect(out).toBe("alice\tuser\nbob\tuser\n");
});

function testShell(shell: string): void {
  const complete = (...words: string[]) => SHELLS[shell]?.(words) ?? [];

  test("commands are completed", () => {
    expect(complete("us")).toEqual(["user"]);
    expect(complete("backup", "")).toEqual(["create", "help", "list", "prune", "restore", "verify"]);
  });

  test("user names are completed", () => {
    expect(complete("token", "list", "")).toEqual(["alice", "bob"]);
    expect(complete("user", "delete", "b")).toEqual(["bob"]);
    expect(complete("user", "password", "")).toEqual(["alice", "bob"]);
    expect(complete("user", "sign-out", "a")).toEqual(["alice"]);
    expect(complete("user", "rename", "")).toEqual(["alice", "bob"]);
    expect(complete("user", "rename", "alice", "")).toEqual([]);
    expect(complete("device", "list", "")).toEqual(["alice", "bob"]);
  });

  test("token ids are completed", () => {
    expect(complete("token", "revoke", "")).toEqual([token]);
  });

  test("flags and their choices are completed, and a flag's value is not an argument", () => {
    expect(complete("token", "issue", "--sc")).toEqual(["--scope"]);
    expect(complete("token", "issue", "--scope", "")).toEqual(["read", "write"]);
    expect(complete("token", "issue", "--scope", "read", "a")).toEqual(["alice"]);
  });

  /** As the shell gives what was typed with an equals sign. */
  const withEquals = (flag: string, value: string) => (shell === "bash" ? [flag, "=", value] : [`${flag}=${value}`]);

  test("a flag with an equals sign is completed, and other data than the default's is asked", () => {
    const [read = ""] = withEquals("--scope", "read").slice(-1);
    expect(complete("token", "issue", ...withEquals("--scope", "re"))).toEqual([read]);
    expect(complete("token", "issue", ...withEquals("--scope", "read"), "a")).toEqual(["alice"]);
    expect(complete("token", "list", ...withEquals("--data-dir", "/nonexistent"), "")).toEqual([]);
    if (shell === "bash") expect(complete("token", "issue", "--scope", "=")).toEqual(["read", "write"]);
  });

  test("only the user's own tokens filter the history", () => {
    expect(complete("history", "alice", "--by", "")).toEqual([token]);
    expect(complete("history", "bob", "--by", "")).toEqual([]);
  });

  test("the shell completes files", () => {
    expect(complete("backup", "verify", "")).toEqual(["FILES"]);
    expect(complete("conformance", "http://127.0.0.1", "--junit", "")).toEqual(["FILES"]);
    expect(complete("copy", "--from", "")).toEqual(["FILES"]);
  });

  test("nothing is suggested or created without a database", () => {
    expect(complete("token", "list", "--data-dir", "/nonexistent", "")).toEqual([]);
  });
}
