// What owners of a domain call the services below it: `cdn`, `docs2`, `us-east-1.packages`. Not `alice` or `d3adb33f01x`: where
// people and tenants have names, the next one is a stranger's. Names that are not here are never taken for a service.

const words: ReadonlySet<string> = new Set(
  `
  api apis app apps archive archives artifact artifacts asset assets auth binaries blob blobs build builds cache cdn charts cloud
  conda config console content contents crates css data deb debian dev developer developers dist dl doc docs download downloads
  edge events feed feeds file files font fonts ftp gateway get git guide help host hosts hub id image images img index info install
  installer js lib libs login manual maven media meta metadata mirror mirrors models news npm nuget object objects origin package
  packages pkg pkgs plugin plugins prod production proxy public pypi raw read ref reference registry release releases repo
  repository repos resources rpm schema schemas sdk search secure service services src source sources sso static stats status
  storage store sum support svc telemetry tools update updates upload uploads video videos web wheels wiki www
  global us eu ap sa ca af me uk de fr jp east west north south central northeast northwest southeast southwest
`
    .trim()
    .split(/\s+/),
);

/** `name`: what stands before the domain. */
export function isCalledAsAService(name: string): boolean {
  return name.split(/[-.]/).every((part, at) => {
    if (at > 0 && /^[0-9]{1,2}$/.test(part)) return true;
    return words.has(part.replace(/(?<=[a-z])[0-9]{1,2}$/, ''));
  });
}
