//! Sends the records of ended calls to a log store over OTLP, from the journal and not from memory: what a collector has not
//! taken is sent again, by the next process if need be.

mod log_record;

use std::sync::OnceLock;

use bytes::Bytes;
use http::{StatusCode, header};
use opentelemetry_proto::tonic::{
    collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse},
    logs::v1::{LogRecord, ResourceLogs, ScopeLogs},
};
use opentelemetry_sdk::Resource;
use prost::Message;
use reqwest::Client;
use switchboard_audit::{CallStage, CallUpdate, ExportTarget, RecordDestination, StoreNode};
use switchboard_toolcall::{BoxError, BoxFuture, CancellationToken};
use tracing::warn;

use crate::{Config, Error, export, sender};

/// How large a record may be; of a larger one, long values are replaced by notes.
const LARGEST: usize = 256 << 10;
/// How many bytes of records a request has, unless one alone is larger.
const REQUEST: usize = 2 << 20;
/// How many bytes of a refusal are shown.
const SHOWN: usize = 300;

/// A log store that receives the records of ended calls.
pub struct RecordLog {
    address: String,
    headers: http::HeaderMap,
    resource: Resource,
    client: OnceLock<Client>,
}

impl RecordLog {
    /// Creates it, if the settings want records to be sent and have an endpoint. Nothing is connected before there is something
    /// to send.
    ///
    /// # Errors
    /// The settings cannot work.
    pub fn new(config: &Config) -> Result<Option<Self>, Error> {
        let Some(address) = config.otlp.as_ref().filter(|_| config.records) else {
            return Ok(None);
        };
        let address = export::checked(address)?;
        let headers = export::headers(config)?.into_iter().map(|(name, value)| {
            let wrong = || Error::Header(name.clone());
            let value = value.parse().map_err(|_| wrong())?;
            Ok((name.parse::<http::HeaderName>().map_err(|_| wrong())?, value))
        });
        let headers = headers.collect::<Result<_, Error>>()?;
        let resource = export::resource(config);
        Ok(Some(Self { address, headers, resource, client: OnceLock::new() }))
    }

    /// Sends the records of calls; if they are refused for what they are, halves of them, so that one that a store does not
    /// take does not keep back the others.
    fn send_all<'a>(
        &'a self,
        node: &'a StoreNode,
        records: &'a [LogRecord],
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move {
            let response = self.post(self.request(node, records)).await?;
            let (status, body) = (response.status(), response.bytes().await?);
            match status {
                status if status.is_success() => {
                    self.tell_rejected(&body);
                    Ok(())
                }
                StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE if records.len() > 1 => {
                    let (one, other) = records.split_at(records.len() / 2);
                    self.send_all(node, one).await?;
                    self.send_all(node, other).await
                }
                StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE => {
                    let call = records.first().map(log_record::uid).unwrap_or_default();
                    let to = &self.address;
                    warn!(call, reason = shown(&body), "{to} does not take a record ({status})");
                    Ok(())
                }
                // Also a missing key, or a wrong path: somebody corrects it, and until then nothing is lost.
                status => Err(format!("it answered {status}: {}", shown(&body)).into()),
            }
        })
    }

    async fn post(&self, body: Vec<u8>) -> Result<reqwest::Response, BoxError> {
        let request = self.client()?.post(format!("{}/v1/logs", self.address));
        let request = request.headers(self.headers.clone());
        let request = request.header(header::CONTENT_TYPE, "application/x-protobuf");
        Ok(request.body(body).send().await?)
    }

    fn request(&self, node: &StoreNode, records: &[LogRecord]) -> Vec<u8> {
        let scope_logs = vec![ScopeLogs {
            scope: Some(log_record::scope()),
            log_records: records.to_vec(),
            ..ScopeLogs::default()
        }];
        let resource = Some(log_record::resource(&self.resource, node));
        let resource_logs = vec![ResourceLogs { resource, scope_logs, ..ResourceLogs::default() }];
        ExportLogsServiceRequest { resource_logs }.encode_to_vec()
    }

    /// Warns if the store has taken the request, but not all of its records: these must not be sent again.
    fn tell_rejected(&self, body: &Bytes) {
        // A body that cannot be parsed says nothing of rejected records.
        let response = ExportLogsServiceResponse::decode(body.clone()).unwrap_or_default();
        if let Some(partial) = response.partial_success
            && partial.rejected_log_records > 0
        {
            let (count, to) = (partial.rejected_log_records, &self.address);
            warn!(reason = partial.error_message, "{to} has rejected {count} records");
        }
    }

    fn client(&self) -> Result<&Client, BoxError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = sender::client().build()?;
        Ok(self.client.get_or_init(|| client))
    }
}

impl RecordDestination for RecordLog {
    fn target(&self) -> ExportTarget {
        ExportTarget::Otlp
    }

    fn name(&self) -> String {
        self.address.clone()
    }

    fn open<'a>(
        &'a self,
        _: &'a StoreNode,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Box<dyn Send>, BoxError>> {
        // HTTP has no connection to prepare: the first request shows whether the store is there.
        Box::pin(async { Ok(Box::new(()) as Box<dyn Send>) })
    }

    fn send<'a>(&'a self, updates: &'a [CallUpdate]) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move {
            let ended = updates.iter().filter(|update| update.stage != CallStage::Started);
            let Some(node) = ended.clone().next().map(|update| &update.node) else {
                return Ok(());
            };
            let details = ended.filter_map(|update| update.within(LARGEST).detail());
            let records: Vec<_> = details.map(|detail| log_record::of(&detail)).collect();
            for part in parts(&records) {
                self.send_all(node, part).await?;
            }
            Ok(())
        })
    }
}

/// Divides records into requests that a receiver can take, and in time.
fn parts(records: &[LogRecord]) -> Vec<&[LogRecord]> {
    let mut parts = Vec::new();
    let (mut first, mut size) = (0, 0);
    for (at, record) in records.iter().enumerate() {
        let length = record.encoded_len();
        if size > 0 && size + length > REQUEST {
            parts.push(&records[first..at]);
            (first, size) = (at, 0);
        }
        size += length;
    }
    parts.push(&records[first..]);
    parts
}

/// As much of a response as is shown.
fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(SHOWN)]).into_owned()
}

#[cfg(test)]
mod tests;
