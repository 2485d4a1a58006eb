// Writes down which test files did not pass, for scripts/test-all.mjs: one JSON file, at the path in SECOND_LOOK_FILE.
import { writeFileSync } from 'node:fs';

// biome-ignore lint/style/noDefaultExport: by this the runner finds it
export default class SecondLookReporter {
  onTestRunEnd(modules, unhandledErrors, reason) {
    const failed = modules.filter((module) => !module.ok()).map((module) => module.moduleId);
    const found = { reason, failed, unhandled: unhandledErrors.length };
    writeFileSync(process.env.SECOND_LOOK_FILE, JSON.stringify(found));
  }
}
