//! The tokens of ABC's router: algorithm 1 of the paper.

use super::params::{AbcParams, Credit};

/// A token bucket: each packet adds the fraction of packets that are to be accelerates, and each
/// accelerate costs one token.
pub(super) struct TokenBucket {
    tokens: f64,
    limit: f64,
}

impl TokenBucket {
    pub(super) fn new(params: &AbcParams) -> TokenBucket {
        TokenBucket { tokens: params.token0, limit: params.token_limit }
    }

    /// Returns the tokens, for plots.
    pub(super) fn tokens(&self) -> f64 {
        self.tokens
    }

    /// Adds tokens for unused capacity. The limit applies only after the next packet has been
    /// marked (authors' code).
    #[inline]
    pub(super) fn add(&mut self, tokens: f64) {
        self.tokens += tokens;
    }

    /// Returns whether a departing packet may be an accelerate. `spend` says that it is one, which
    /// costs a token.
    #[inline]
    pub(super) fn admit(&mut self, fraction: f64, spend: bool, credit: Credit) -> bool {
        let limited = |tokens: f64| if tokens < self.limit { tokens } else { self.limit };
        let mut tokens = self.tokens + fraction;
        // The paper limits the tokens before the decision, the authors' code after it.
        if credit == Credit::Target {
            tokens = limited(tokens);
        }
        let admitted = tokens > 1.0;
        if admitted && spend {
            tokens -= 1.0;
        }
        self.tokens = limited(tokens);
        admitted
    }
}
