// Headers by which `podkeep doctor` learns whom the server takes it for.
import { z } from "zod";

/** In a request with a token: asks for the other one. */
export const DOCTOR = "X-Podkeep-Doctor";
/** In its response. */
export const CLIENT = "X-Podkeep-Client";

const Client = z.object({
  /** The address that failed logins are counted by. */
  address: z.string(),
  /** How the server used X-Forwarded-For. */
  forwarded: z.enum(["missing", "used", "ignored"]),
});
export type DoctorClient = z.infer<typeof Client>;

export const writeClient = ({ address, forwarded }: DoctorClient) => `${address}; forwarded=${forwarded}`;

/** Null if the server is too old to say. */
export function readClient(text: string | null): DoctorClient | null {
  const [address, forwarded] = (text ?? "").split("; forwarded=");
  return Client.safeParse({ address, forwarded }).data ?? null;
}
