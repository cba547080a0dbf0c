// What GitHub runs on a push and for a tag, and what a release has.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { dependencies, scripts } from "../../package.json";
import { listContents } from "../../scripts/sbom.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const FOLDER = join(ROOT, ".github/workflows");

const Step = z.object({
  uses: z.string().optional(),
  run: z.string().optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const Workflow = z.object({
  on: z.record(z.string(), z.unknown()),
  permissions: z.record(z.string(), z.string()),
  jobs: z.record(
    z.string(),
    z.object({
      uses: z.string().optional(),
      with: z.record(z.string(), z.string()).optional(),
      needs: z.string().optional(),
      permissions: z.record(z.string(), z.string()).optional(),
      steps: z.array(Step).default([]),
    }),
  ),
});

const texts = new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), "utf8")]));
const read = (name: string) => Workflow.parse(Bun.YAML.parse(texts.get(name) ?? ""));
const commandsOf = ({ jobs }: z.infer<typeof Workflow>) =>
  Object.values(jobs).flatMap(({ steps }) => steps.map(({ run }) => run ?? ""));

test("every push runs the gate", () => {
  const workflow = read("test.yml");
  expect(Object.keys(workflow.on)).toContain("push");
  expect(commandsOf(workflow).join("\n")).toContain(".ci/run");
});

test("every night runs all rounds of the fault tests, in other worlds than the nights before", () => {
  const { on, jobs } = read("faults.yml");
  expect(Object.keys(on)).toContain("schedule");
  expect(jobs["gate"]).toMatchObject({
    uses: "./.github/workflows/test.yml",
    with: { settings: expect.stringMatching(/^PODKEEP_FAULT_SECONDS=3600 PODKEEP_SEED=.{3} github\.run_number }}$/) },
  });
  const [gate] = read("test.yml").jobs["gate"]?.steps.slice(-1) ?? [];
  expect(gate).toMatchObject({
    run: 'sudo env "PATH=$PATH" $SETTINGS .ci/run',
    env: { SETTINGS: expect.stringMatching(/^.{3} inputs\.settings }}$/) },
  });
});

test("a tag is tested, then executables and the image of both architectures are published", () => {
  const workflow = read("release.yml");
  expect(workflow.on).toEqual({ push: { tags: ["v*"] } });
  const { test: tested, executables, publish, image } = workflow.jobs;
  expect([tested?.uses, executables?.needs, publish?.needs, image?.needs]).toEqual([
    "./.github/workflows/test.yml",
    "test",
    "executables",
    "publish",
  ]);
  const commands = commandsOf(workflow).join("\n");
  expect(commands).toMatch(
    /npm run release\n[\s\S]*install\.sh[\s\S]*npm run -s smoke[\s\S]*gh release create .* release\/\*/,
  );
  expect(commands).toContain("--platform linux/amd64,linux/arm64");
});

test("what builds the executables can't write anything, and what publishes them runs nothing of the repository", () => {
  const { permissions, jobs } = read("release.yml");
  expect(permissions).toEqual({ contents: "read" });
  expect(jobs["executables"]?.permissions).toBeUndefined();
  expect(jobs["publish"]?.permissions).toMatchObject({ contents: "write" });
  const { steps = [] } = jobs["publish"] ?? {};
  expect(steps.map(({ uses }) => uses?.replace(/@.*/, "")).filter((uses) => uses === "actions/checkout")).toEqual([]);
  expect(steps.map(({ run = "" }) => run).join("\n")).not.toMatch(/npm|node|\.\//);
});

test("the workflows run only scripts that exist, and use no secret but the job's token", () => {
  for (const text of texts.values()) {
    for (const [, script = ""] of text.matchAll(/npm run (?:-s )?([\w:]+)/g))
      expect(Object.keys(scripts)).toContain(script);
    for (const [, file = ""] of text.matchAll(/(?:sudo env "PATH=\$PATH"(?: \$SETTINGS)?|uses:) \.?\/?(\.[\w/.-]+)/g)) {
      expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
    }
    expect(text).not.toContain("secrets.");
  }
});

test("the list of a release's contents has the runtime and every package that is bundled", () => {
  const { components, metadata } = JSON.parse(listContents());
  const names = components.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(["bun", ...Object.keys(dependencies)]));
  expect(names).not.toContain("typescript");
  expect([metadata.component.name, metadata.component.type]).toEqual(["podkeep", "application"]);
});
