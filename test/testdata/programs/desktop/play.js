const { chromium } = require('playwright-core');
(async () => {
  const b = await chromium.launch({ executablePath: '/usr/bin/chromium', headless: false, chromiumSandbox: true });
  const page = await b.newPage();
  await page.setContent('<title>played</title><body style="margin:0;background:#0000ff"><textarea onfocus="document.title = \'focused\'" style="width:100vw;height:50vh"></textarea>');
  await page.waitForFunction(() => document.querySelector('textarea').value.endsWith('!'));
  require('fs').writeFileSync('played.txt', await page.inputValue('textarea'));
  await b.close();
})().catch(e => { console.error(e); process.exit(1) });
