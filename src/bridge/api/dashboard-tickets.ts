/**
 * Tickets of dashboard panes: one cluster, reading only, minutes (S5, S7). A sandboxed page has no
 * cookies, so what it loads is let through by the ticket in its path.
 */
import { randomBytes } from 'node:crypto';
import { idFromBytes } from '../../protocol/index.js';
import type { ClusterId } from '../../protocol/index.js';

/** Milliseconds a ticket lives after its last use. */
export const TICKET_LIFE = 15 * 60_000;
const MAXIMUM_TICKETS = 1000;

export class DashboardTickets {
  constructor(private readonly now: () => number = () => performance.now()) {}

  issue(cluster: ClusterId): string {
    this.expire();
    while (this.tickets.size >= MAXIMUM_TICKETS) {
      const [oldest] = this.tickets.keys();
      this.tickets.delete(oldest ?? '');
    }
    // 160 random bits: it stands in for a secret.
    const ticket = idFromBytes(randomBytes(16)) + idFromBytes(randomBytes(16));
    this.tickets.set(ticket, {
      cluster,
      until: this.now() + TICKET_LIFE,
      holders: 0
    });
    return ticket;
  }

  /** True where the ticket is alive and of this cluster; it then lives on. */
  admits(ticket: string, cluster: ClusterId): boolean {
    const known = this.tickets.get(ticket);
    if (
      known?.cluster !== cluster ||
      (known.holders === 0 && known.until < this.now())
    ) {
      return false;
    }
    known.until = this.now() + TICKET_LIFE;
    return true;
  }

  /**
   * Keeps a ticket alive while a stream below it is open: a pane that only listens is in use.
   * @returns the function that ends it.
   */
  hold(ticket: string): () => void {
    const known = this.tickets.get(ticket);
    if (known === undefined) {
      return () => undefined;
    }
    known.holders += 1;
    return () => {
      known.holders -= 1;
      known.until = this.now() + TICKET_LIFE;
    };
  }

  private expire(): void {
    for (const [ticket, { until, holders }] of this.tickets) {
      if (holders === 0 && until < this.now()) {
        this.tickets.delete(ticket);
      }
    }
  }

  private readonly tickets = new Map<
    string,
    { cluster: ClusterId; until: number; holders: number }
  >();
}
