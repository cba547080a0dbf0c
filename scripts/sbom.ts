// The software bill of materials of the executables (CycloneDX).
import { join } from "node:path";
import { z } from "zod";

const ROOT = join(import.meta.dir, "..");
const Component = z.looseObject({
  "bom-ref": z.string(),
  name: z.string(),
  properties: z.array(z.looseObject({ name: z.string() })),
});
const Inventory = z.looseObject({
  metadata: z.looseObject({ component: Component }),
  components: z.array(Component),
  dependencies: z.array(z.looseObject({ ref: z.string() })),
});

/** Lists the runtime and the packages of the executables, as JSON. */
export function listContents(): string {
  const command = ["npm", "sbom", "--sbom-format=cyclonedx", "--sbom-type=application", "--package-lock-only"];
  const { success, stdout, stderr } = Bun.spawnSync(command, { cwd: ROOT, stderr: "pipe" });
  if (!success) throw new Error(`npm sbom failed: ${stderr}`);
  const { metadata, components, dependencies, ...rest } = Inventory.parse(JSON.parse(stdout.toString()));
  const contained = components.filter(isContained).map((one) => (isRuntime(one) ? { ...one, ...REQUIRED } : one));
  const refs = new Set([metadata.component["bom-ref"], ...contained.map((one) => one["bom-ref"])]);
  const inventory = {
    ...rest,
    // npm names the project by its directory.
    metadata: { ...metadata, component: { ...metadata.component, name: "podkeep" } },
    components: contained,
    dependencies: dependencies.filter(({ ref }) => refs.has(ref)),
  };
  return `${JSON.stringify(inventory, null, 2)}\n`;
}

/** For npm the runtime is a tool; the executables contain it. */
const REQUIRED = { scope: "required", properties: [] };
const isRuntime = ({ name }: z.infer<typeof Component>) => name === "bun";

// `npm sbom --omit=dev` leaves out packages that tools use too.
function isContained(component: z.infer<typeof Component>): boolean {
  return isRuntime(component) || !component.properties.some(({ name }) => name === "cdx:npm:package:development");
}
