// Files that are embedded as text, and pictures, which are embedded as files.
declare module "*.css" {
  const text: string;
  export default text;
}
declare module "*/script.js" {
  const text: string;
  export default text;
}
declare module "*/try-it.js" {
  const text: string;
  export default text;
}
declare module "*.png" {
  const path: string;
  export default path;
}
