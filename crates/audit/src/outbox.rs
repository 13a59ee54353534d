//! What the journal says and others have not been told yet, with a cursor beside it.
//!
//! The journal is the truth: nothing is lost while nobody listens. One process at a time tells of a store, whichever
//! processes write to it. What was told and not noted is told again, so listeners must know a call's stage when they
//! see it a second time.

mod cursor;
mod lines;
mod node;
mod told;

use std::{
    fs::{self, File, TryLockError},
    io,
};

use switchboard_runtime::private_files;
use switchboard_toolcall::CallId;
use tracing::warn;

use crate::{
    artifacts,
    error::{Error, chain},
    index::segments,
    journal,
    key::StoreFolder,
    layout::Layout,
    line::{Kind, first_id},
    manifest::Manifest,
    reader::{Found, Reader, line_at},
};
use cursor::Cursor;
use lines::{Line, Lines};

pub use node::Node;
pub use told::{Stage, Told};

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
    pub fn open(folder: impl Into<StoreFolder>) -> Result<Option<Self>, Error> {
        let layout = Layout::new(folder);
        if !layout.exists()? {
            return Ok(None);
        }
        let path = layout.told().with_extension("lock");
        let mut options = File::options();
        let lock = private_files::open(options.create(true).truncate(false).write(true), &path);
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

    /// What is to be told next, oldest first whichever process wrote it, at most `most` of it.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn next(&mut self, most: usize) -> Result<Vec<Told>, Error> {
        let mut told = Vec::new();
        let mut heads = self.heads()?;
        while told.len() < most {
            let first = heads.iter().enumerate().min_by_key(|(_, (line, _))| line.tick);
            let Some((index, _)) = first else { break };
            let (line, lines) = &mut heads[index];
            told.extend(self.told(&line.text, line.place)?);
            let number = line.place.0;
            self.read.reach(number, line.end(), line.hash);
            match lines.next().map_err(Error::file("read", &self.layout.segment(number)))? {
                Some(next) => *line = next,
                None => _ = heads.swap_remove(index),
            }
        }
        Ok(told)
    }

    /// The next line of each segment that has one, with those that follow it.
    fn heads(&mut self) -> Result<Vec<(Line, Lines)>, Error> {
        let lengths = self.lengths()?;
        self.read.segments.retain(|number, _| lengths.iter().any(|(other, _)| other == number));
        let mut heads = Vec::new();
        for (number, length) in lengths {
            let from = self.read.of(number);
            if from.offset >= length {
                continue;
            }
            let path = self.layout.segment(number);
            let head = || {
                let mut lines = Lines::open(&path, number, &from, length)?;
                Ok::<_, io::Error>(lines.next()?.map(|line| (line, lines)))
            };
            match head() {
                // Retention may have dropped it just now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                head => heads.extend(head.map_err(Error::file("read", &path))?),
            }
        }
        Ok(heads)
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
        Reader::open(self.layout.folder()).and_then(|mut reader| reader.begun(id)).ok().flatten()
    }
}
