/** Who is asking: a signed cookie. Your framework's sessions do the same. */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const secret = process.env["SESSION_SECRET"] ?? randomBytes(32).toString("hex");
const sign = (value: string) => createHmac("sha256", secret).update(value).digest("base64url");

export function setCookie(name: string, value: string): string {
  const text = encodeURIComponent(value);
  // Lax: the browser sends it when it comes back from a login, but not with requests that other sites make.
  return `${name}=${text}.${sign(`${name}=${text}`)}; Path=/; HttpOnly; SameSite=Lax`;
}

/** The value of a cookie, or undefined if this program did not sign it. */
export function readCookie(request: Request, name: string): string | undefined {
  const cookies = (request.headers.get("cookie") ?? "").split("; ");
  const cookie = cookies.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
  const [text = "", signature = ""] = cookie?.split(".") ?? [];
  const [given, expected] = [Buffer.from(signature), Buffer.from(sign(`${name}=${text}`))];
  const isOurs = given.length === expected.length && timingSafeEqual(given, expected);
  return isOurs ? decodeURIComponent(text) : undefined;
}
