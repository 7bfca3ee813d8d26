/** The sidebar, by the roles and names a person meets. */
import { expect } from '@playwright/test';
import type { Locator, Page } from '@playwright/test';
import { NewClusterDialog } from './new-cluster-dialog.js';

export class ClusterPanel {
  constructor(private readonly page: Page) {}

  get region(): Locator {
    return this.page.getByRole('region', { name: 'Dask clusters' });
  }

  async open(): Promise<void> {
    if (!(await this.region.isVisible())) {
      await this.page
        .getByRole('tab', { name: 'Clusters', exact: true })
        .click();
    }
    await expect(this.region).toBeVisible();
  }

  row(name: string): Locator {
    return this.region.getByRole('listitem', {
      name: new RegExp(`^Cluster ${name} on `)
    });
  }

  /** The state of a row, in the dot's word. */
  state(name: string): Locator {
    return this.row(name).locator('.jp-MusterDot').first();
  }

  async select(name: string): Promise<void> {
    const row = this.row(name);
    if ((await row.getAttribute('aria-current')) !== 'true') {
      await row.locator('.jp-MusterCluster-name').click();
    }
    await expect(row).toHaveAttribute('aria-current', 'true');
  }

  /** Exactly so many workers are connected, whatever is wanted. */
  async expectWorkers(name: string, count: number): Promise<void> {
    await expect(
      this.row(name).locator('.jp-MusterCluster-summary b')
    ).toHaveText(String(count), { timeout: 90_000 });
  }

  async newCluster(): Promise<NewClusterDialog> {
    await this.region.getByRole('button', { name: 'New cluster…' }).click();
    const dialog = new NewClusterDialog(this.page);
    await expect(dialog.root).toBeVisible();
    return dialog;
  }

  async insertCode(name: string): Promise<void> {
    await this.select(name);
    await this.row(name)
      .getByRole('button', { name: 'Insert connect code in the notebook' })
      .click();
  }

  async moreWorkers(name: string, clicks: number): Promise<void> {
    await this.select(name);
    const more = this.row(name).getByRole('button', { name: 'More workers' });
    for (let click = 0; click < clicks; click += 1) {
      await more.click();
    }
  }

  async setFixed(name: string, amount: string): Promise<void> {
    await this.select(name);
    const row = this.row(name);
    await row.getByRole('radio', { name: 'Fixed' }).click();
    const field = row.getByRole('textbox', {
      name: 'Size: workers, cores or memory'
    });
    await field.fill(amount);
    await field.press('Enter');
  }

  async setAdaptive(
    name: string,
    minimum: string,
    maximum: string
  ): Promise<void> {
    await this.select(name);
    const row = this.row(name);
    await row.getByRole('radio', { name: 'Adaptive' }).click();
    for (const [label, amount] of [
      ['Maximum size', maximum],
      ['Minimum size', minimum]
    ] as const) {
      const field = row.getByRole('textbox', { name: label });
      await field.fill(amount);
      await field.press('Enter');
    }
  }

  /** From the row's menu; says yes to the question. */
  async stop(name: string): Promise<void> {
    await this.openMenu(name, 'Stop Cluster…');
    const question = this.page.getByRole('dialog');
    await expect(question).toContainText(name);
    await question.getByRole('button', { name: /stop/i }).click();
  }

  async openMenu(name: string, item: string): Promise<void> {
    await this.row(name)
      .locator('.jp-MusterCluster-name')
      .click({ button: 'right' });
    await this.page.getByRole('menuitem', { name: item, exact: true }).click();
  }

  /** A card by its headline. */
  card(title: string | RegExp): Locator {
    return this.region
      .locator('.jp-MusterCard')
      .filter({ has: this.page.getByText(title) });
  }
}
