//! What carries packets: links, services, queues, delay, loss and reordering.
