// Drives Chromium for the tests: a command is a line of JSON on standard input, its answer a line on standard output.

import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [executablePath, ...args] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args });
const PATIENCE_MS = 60_000;
let page;
let told;

const COMMANDS = {
  async open(url, options) {
    await page?.context().close();
    page = await (await browser.newContext(options)).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    told = { requests: [], errors: [] };
    await page.context().route("**/*", (route) => {
      told.requests.push(route.request().url());
      return route.continue();
    });
    page.on("console", (message) => message.type() === "error" && told.errors.push(message.text()));
    page.on("pageerror", (error) => told.errors.push(String(error)));
    await page.addInitScript(() => {
      window.answers = [];
      document.addEventListener("answered", ({ detail }) => {
        const plain = (output) => output && (output.length === undefined ? output : Array.from(output));
        const copy = (answer) => Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, plain(value)]));
        window.answers.push(Object.fromEntries(Object.entries(detail).map(([name, answer]) => [name, copy(answer)])));
      });
    });
    await page.goto(url);
  },
  told: async () => told,
  async until(expression) { // not waitForFunction, which the page's security policy forbids
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
      if (await page.evaluate(expression)) return;
      await page.waitForTimeout(20);
    }
    throw new Error(`not within ${PATIENCE_MS} ms: ${expression}; ${told.errors.join("; ")}`);
  },
  press: (key) => page.keyboard.press(key),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { command, given } = JSON.parse(line);
  try {
    const result = await (COMMANDS[command] ?? ((...values) => page[command](...values)))(...given);
    const plain = result === undefined || command === "screenshot";
    console.log(JSON.stringify({ result: plain ? null : result }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error) }));
  }
}
await browser.close();
