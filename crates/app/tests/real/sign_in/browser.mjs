// A person with a browser: `node browser.mjs NAME ADDRESS [CODE]` signs in as NAME at ADDRESS and consents. Prints the text of the page
// that it ends on. With TOKEN in the environment ADDRESS is a page of a gateway, which asks for that first.

import { from } from './parts.mjs';

const { chromium } = (await from('console', 'playwright-core')).default;
const [name, address, code] = process.argv.slice(2);

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage'],
});
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(address);
  if (process.env.TOKEN) {
    await page.fill('input[name=token]', process.env.TOKEN);
    await page.click('button[type=submit]');
  }
  if (code) {
    await page.fill('input[name=user_code]', code);
    await page.click('[type=submit]');
    await page.click('button[type=submit]');
  }
  await page.fill('input[name=login]', name);
  await page.fill('input[name=password]', 'password-of-the-person');
  await page.click('button[type=submit]');
  // The page that asks for consent.
  await page.waitForSelector('input[name=prompt][value=consent]', { state: 'attached' });
  await page.click('button[type=submit]');
  await page.waitForSelector(code ? 'text=/success/i' : 'text=Signed in');
  console.log(await page.innerText('body'));
} finally {
  await browser.close();
}
