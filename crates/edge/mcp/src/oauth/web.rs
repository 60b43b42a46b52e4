//! One bounded HTTP exchange with an authorization server.

use std::time::Duration;

use http::Response;
use reqwest::header::ACCEPT;
use reqwest::{Request, RequestBuilder, Url};

use crate::failure::{Class, Failure};

/// Documents and token answers are small.
const MAX_BODY: usize = 1 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Web {
    client: reqwest::Client,
}

impl Web {
    pub(crate) fn new(client: reqwest::Client) -> Self {
        Self { client }
    }

    pub(crate) fn post(&self, url: Url) -> RequestBuilder {
        self.client.post(url).header(ACCEPT, "application/json")
    }

    /// Sends and reads the whole answer. The failures are those that may pass: nobody answered, or not in time.
    pub(crate) async fn send(
        &self,
        request: Request,
        limit: Duration,
    ) -> Result<Response<Vec<u8>>, Failure> {
        let host = host(&request);
        within(limit, host, self.exchange(request)).await
    }

    /// Sends and leaves the body of the answer alone: it may never end.
    pub(crate) async fn head(
        &self,
        request: Request,
        limit: Duration,
    ) -> Result<Response<()>, Failure> {
        let host = host(&request);
        let answer = async {
            let response: Response<reqwest::Body> = self.client.execute(request).await?.into();
            Ok(response.map(drop))
        };
        within(limit, host, answer).await
    }

    async fn exchange(&self, request: Request) -> Result<Response<Vec<u8>>, Problem> {
        let mut response = self.client.execute(request).await?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > MAX_BODY {
                return Err(Problem::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        let response: Response<reqwest::Body> = response.into();
        Ok(response.map(|_| body))
    }
}

fn host(request: &Request) -> String {
    request.url().host_str().unwrap_or_default().to_owned()
}

async fn within<T>(
    limit: Duration,
    host: String,
    exchange: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(limit, exchange).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(unreachable(&host, error)),
        Err(_) => {
            let message = format!("{host} did not answer within {} s", limit.as_secs());
            Err(Failure::new(Class::Gateway, "Timeout", message))
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("the answer is larger than {MAX_BODY} bytes")]
    TooLarge,
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}

fn unreachable(host: &str, problem: Problem) -> Failure {
    let (class, kind, cause) = match problem {
        Problem::TooLarge => (Class::Gateway, "Protocol error", problem.to_string()),
        Problem::Http(error) => {
            let class = if hermes_net::was_never_sent(&error) {
                Class::NotSent
            } else {
                Class::Gateway
            };
            let cause = hermes_net::trouble_cause(&error);
            (class, hermes_net::trouble_kind(&error), cause)
        }
    };
    Failure::new(class, kind, format!("{host}: {cause}"))
}
