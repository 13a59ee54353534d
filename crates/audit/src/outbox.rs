//! What the journal says and others have not been told yet, with a cursor beside it.
//!
//! The journal is the truth: nothing is lost while nobody listens. One process at a time tells of a store, whichever
//! processes write to it. What was told and not noted is told again, so listeners must know a call's stage when they
//! see it a second time.

mod cursor;
mod node;
mod told;

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, SeekFrom},
    path::PathBuf,
};

use switchboard_toolcall::CallId;
use tracing::warn;

use crate::{
    artifacts,
    chain::Sealed,
    error::{Error, chain},
    index::segments,
    journal,
    layout::{Layout, private},
    line::{Kind, first_id},
    manifest::Manifest,
    reader::{Found, Reader, line_at},
    segment::lines,
};
use cursor::Cursor;

pub use node::Node;
pub use told::{Stage, Told};

/// How much of a segment is read at once.
const CHUNK: u64 = 1 << 20;

/// The lines of a store that are to be told.
pub struct Outbox {
    layout: Layout,
    node: Node,
    /// How far it was read.
    read: Cursor,
    /// Held as long as this process tells.
    _lock: File,
}

impl Outbox {
    /// Takes the telling of the store in the folder upon this process; none where another one does it, or where nothing
    /// was ever written down.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn open(path: impl Into<PathBuf>) -> Result<Option<Self>, Error> {
        let layout = Layout::new(path);
        if !layout.exists() {
            return Ok(None);
        }
        let path = layout.told().with_extension("lock");
        let lock = private().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(Error::file("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(Error::file("lock", &path)(error)),
        }
        let node = Node::of(&layout)?;
        let read = Cursor::read(&layout)?;
        Ok(Some(Self { layout, node, read, _lock: lock }))
    }

    /// Who tells.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// What is to be told next, oldest first, at most `most` of it.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn next(&mut self, most: usize) -> Result<Vec<Told>, Error> {
        let mut told = Vec::new();
        let lengths = self.lengths()?;
        self.read.segments.retain(|number, _| lengths.iter().any(|(other, _)| other == number));
        for (number, length) in lengths {
            while told.len() < most && self.read.of(number).offset < length {
                if !self.read_on(number, most, &mut told)? {
                    break;
                }
            }
        }
        Ok(told)
    }

    /// Notes that everything that was returned so far has been told.
    ///
    /// # Errors
    /// The store cannot be written to.
    pub fn done(&self) -> Result<(), Error> {
        let path = self.layout.told();
        let text = serde_json::to_vec(&self.read).unwrap_or_default();
        artifacts::write(&path, &[&text]).map_err(Error::file("write", &path))
    }

    /// How many bytes of the journal were not returned yet.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn behind(&self) -> Result<u64, Error> {
        let left = |(number, length): (u64, u64)| {
            let read = self.read.segments.get(&number).map_or(0, |reached| reached.offset);
            length.saturating_sub(read)
        };
        Ok(self.lengths()?.into_iter().map(left).sum())
    }

    /// Marks the open calls of processes that died, so that their ends can be told.
    ///
    /// # Errors
    /// The store cannot be changed.
    pub fn repair(&self) -> Result<(), Error> {
        let guard = self.layout.lock()?;
        let mut manifest = Manifest::read(&self.layout)?;
        journal::repair(&self.layout, &mut manifest, &guard).map(|_| ())
    }

    /// The segments and how long they are, in order. The newest are measured first: a call that goes on from one to the
    /// next then has its beginning in what is read of the earlier one.
    fn lengths(&self) -> Result<Vec<(u64, u64)>, Error> {
        let mut lengths = Vec::new();
        for number in segments(&self.layout.journal())?.into_iter().rev() {
            let path = self.layout.segment(number);
            match fs::metadata(&path) {
                Ok(metadata) => lengths.push((number, metadata.len())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::file("read", &path)(error)),
            }
        }
        lengths.reverse();
        Ok(lengths)
    }

    /// Reads a part of a segment; false where there is no whole line yet.
    fn read_on(&mut self, number: u64, most: usize, told: &mut Vec<Told>) -> Result<bool, Error> {
        let from = self.read.of(number);
        let Some(text) = self.text(number, from.offset)? else { return Ok(false) };
        let (mut previous, mut is_on) = (from.hash(), false);
        for (at, line) in lines(&text) {
            if told.len() >= most {
                break;
            }
            let sealed = Sealed::parse(line);
            let follows = sealed.filter(|sealed| previous.is_none_or(|hash| sealed.follows(&hash)));
            previous = sealed.map(|sealed| sealed.hash);
            // What does not follow was torn, and whoever repairs the segment cuts it off.
            let Some(sealed) = follows else { continue };
            let place = (number, from.offset + at, line.len() as u64);
            told.extend(self.told(line, place)?);
            self.read.reach(number, place.1 + place.2 + 1, sealed.hash);
            is_on = true;
        }
        Ok(is_on)
    }

    /// The text of a segment from there on, with at least one whole line where there is one.
    fn text(&self, number: u64, from: u64) -> Result<Option<Vec<u8>>, Error> {
        let path = self.layout.segment(number);
        let mut chunk = CHUNK;
        loop {
            let read = || {
                let mut file = File::open(&path)?;
                file.seek(SeekFrom::Start(from))?;
                let mut text = Vec::new();
                file.take(chunk).read_to_end(&mut text)?;
                Ok::<_, io::Error>(text)
            };
            let text = match read() {
                // Retention may have dropped it just now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                read => read.map_err(Error::file("read", &path))?,
            };
            let is_all = (text.len() as u64) < chunk;
            if is_all || text.contains(&b'\n') {
                return Ok(Some(text));
            }
            chunk *= 2;
        }
    }

    /// What a line says of a call, together with the call's beginning.
    fn told(&mut self, line: &[u8], place: Found) -> Result<Option<Told>, Error> {
        let (Some(kind), Some(id)) = (Kind::of(line), first_id(line)) else { return Ok(None) };
        let stage = match kind {
            Kind::Open => Stage::Begun,
            Kind::End => Stage::Ended,
            Kind::Unknown => Stage::Unknown,
            _ => return Ok(None),
        };
        let begun = match stage {
            Stage::Begun => {
                self.read.open.insert(id, place);
                place
            }
            Stage::Ended | Stage::Unknown => match self.read.open.remove(&id) {
                Some(begun) => begun,
                None => match self.find(id) {
                    Some(begun) => begun,
                    // Its beginning was dropped, so there is nothing to tell of.
                    None => return Ok(None),
                },
            },
        };
        let mut places = vec![begun];
        if stage == Stage::Ended {
            places.push(place);
        }
        let read = |place| line_at(&self.layout, place);
        match places.into_iter().map(read).collect::<Result<Vec<_>, _>>() {
            Ok(lines) => Ok(Told::new(id, stage, self.node.clone(), lines)),
            Err(cause) => {
                warn!(call = %id, cause = chain(&cause), "a damaged record is not shipped");
                Ok(None)
            }
        }
    }

    /// Where a call begins that the cursor does not know any more.
    fn find(&self, id: CallId) -> Option<Found> {
        Reader::open(&self.layout.root).and_then(|mut reader| reader.begun(id)).ok().flatten()
    }
}
