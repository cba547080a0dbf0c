// Pictures are embedded as files.
declare module "*.png" {
  const path: string;
  export default path;
}
