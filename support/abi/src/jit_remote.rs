//! What `liboffloom_jit.so` and the process that talks to a remote store for it exchange.
//!
//! Each message is one packet (`SOCK_SEQPACKET`) of at most [`MOST_BYTES`]: [`VERSION`], the kind, the number
//! of the question, and the kind's fields. Numbers are 32 bits, little-endian; strings and byte runs are
//! behind their length; hashes are 32 bytes ([`type@Hash`]); times are 64 bits, in nanoseconds. An answer has
//! its question's number; one that nobody has asked for has 0.

use crate::wire::{Damage, Fields, put_run, put_string};

/// The name of the program that talks to stores.
pub const REMOTE_NAME: &str = "offloom-jit-remote";
/// The most bytes of a message.
pub const MOST_BYTES: usize = 64 << 10;
/// The most objects that come together.
pub const MOST_OF_BATCH: usize = 512;
/// The most bytes of a reason.
const MOST_OF_REASON: usize = 1000;
/// The most bytes of the name of a GPU that is passed on.
const MOST_OF_NAME: usize = 256;
/// Version of these messages; in each of them.
const VERSION: u32 = 4;

const BEGIN: u32 = 0;
const FETCH: u32 = 1;
const PUBLISH: u32 = 2;
const EXPECT: u32 = 3;
const EXPECT_VERDICTS: u32 = 4;
const JUDGED: u32 = 5;
const ARRIVED: u32 = 16;
const ABSENT: u32 = 17;
const REFUSED: u32 = 18;
const FAILED: u32 = 19;
const UNUSABLE: u32 = 20;
const BROUGHT: u32 = 21;
const ELSEWHERE: u32 = 22;
const VERDICTS: u32 = 23;
const LATE: u32 = 24;
const READY: u32 = 25;
const NOT_PUT: u32 = 26;

/// Variables that hold what S3 wants of its users, which the library passes on.
pub const CREDENTIAL_VARIABLES: [&str; 6] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
];

/// Variables by which the process's libraries find certificates and proxies. It is started with them.
pub const NETWORK_VARIABLES: [&str; 10] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "ALL_PROXY",
    "all_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// The hash that names an object of the cache.
pub type Hash = [u8; 32];

/// An object that came with others, in one file of the private folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InBatch {
    /// Which.
    pub hash: Hash,
    /// Where what would be its own file begins there, in bytes.
    pub offset: u64,
    /// Bytes of that.
    pub size: u64,
}

/// What launches run on: a verdict holds for one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Device<'a> {
    /// This machine's processor, whose model the process finds out.
    Processor,
    /// A GPU with this name, as its driver says it: not empty.
    Gpu(&'a str),
}

impl<'a> Device<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Processor => "",
            Self::Gpu(name) => &name[..name.floor_char_boundary(MOST_OF_NAME)],
        }
    }

    const fn of(text: &'a str) -> Self {
        match text.is_empty() {
            true => Self::Processor,
            false => Self::Gpu(text),
        }
    }
}

/// What the library says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question<'a> {
    /// The first message: environment variables to go by, in the place of the process's own.
    Begin {
        /// Name and value.
        variables: Vec<(&'a str, &'a [u8])>,
    },
    /// Put this object into the private folder, if the store has it. Answered.
    Fetch {
        /// Which.
        hash: Hash,
        /// For how many milliseconds the asker waits.
        deadline: u32,
        /// For how many it waits if another machine is making the object.
        patience: u32,
    },
    /// This object was made, and is in the private folder.
    Publish {
        /// Which.
        hash: Hash,
    },
    /// The program may want what an earlier run of it did, with the verdicts on it of this machine's
    /// processor.
    Expect {
        /// Names the program's list.
        list: Hash,
    },
    /// The program uses this device: it may want the verdicts that such ones have come to.
    ExpectVerdicts {
        /// Names the program's list.
        list: Hash,
        /// Which.
        device: Device<'a>,
    },
    /// Launches of this object, which is in the private folder, were timed.
    Judged {
        /// Names the program's list.
        list: Hash,
        /// What they ran on.
        device: Device<'a>,
        /// Which object.
        hash: Hash,
        /// The fastest launch of it, in nanoseconds.
        variant: u64,
        /// The fastest launch of the ahead-of-time code, in nanoseconds.
        ahead_of_time: u64,
    },
}

/// What comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<'a> {
    /// The object is in the private folder.
    Arrived,
    /// The store does not have it.
    Absent,
    /// Another machine is making it: there will be another answer, and it may be waited for longer.
    Elsewhere,
    /// What the store has is not to be trusted, for this reason.
    Refused(&'a str),
    /// The store could not be asked, for this reason.
    Failed(&'a str),
    /// The store has not answered as long as somebody waits, for this reason.
    Late(&'a str),
    /// There is a connection to the store, or none can be had: from now on answers come in time, or tell of
    /// trouble. Nobody asks for this.
    Ready,
    /// Something that was to be put into the store is not there, for this reason. Nobody asks for this.
    NotPut(&'a str),
    /// No store can be asked, now or later, for this reason.
    Unusable(&'a str),
    /// These objects are in the private folder, because an earlier run wanted them: in one file, until each
    /// has one of its own.
    Brought {
        /// The name of that file, among those that are being written.
        batch: &'a str,
        /// What it holds.
        objects: Vec<InBatch>,
    },
    /// For so many objects the private folder says now what launches took on another machine with such a
    /// device.
    Verdicts(u32),
}

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// It is of another version of Offloom.
    #[error("the process that talks to the remote store is of another version of Offloom")]
    OtherVersion,
    /// A field does not fit.
    #[error("damaged message about the remote store: {what} at offset {offset:#x}")]
    Damaged {
        /// The field.
        what: &'static str,
        /// Its offset, in bytes.
        offset: usize,
    },
}

impl From<Damage> for PacketError {
    fn from(damage: Damage) -> Self {
        Self::Damaged {
            what: damage.what,
            offset: damage.offset,
        }
    }
}

fn begun(kind: u32, number: u32) -> Vec<u8> {
    [VERSION, kind, number].map(u32::to_le_bytes).concat()
}

/// The kind and the number of a message.
fn opened(fields: &mut Fields<'_>) -> Result<(u32, u32), PacketError> {
    if fields.u32("the version")? != VERSION {
        return Err(PacketError::OtherVersion);
    }
    Ok((fields.u32("the kind")?, fields.u32("the number")?))
}

/// That nothing is left.
fn ended(fields: &Fields<'_>) -> Result<(), PacketError> {
    match fields.rest() {
        [] => Ok(()),
        _ => Err(Damage::at("the end", fields.offset()).into()),
    }
}

impl<'a> Question<'a> {
    /// The message's bytes.
    pub fn encode(&self, number: u32) -> Vec<u8> {
        match self {
            Self::Begin { variables } => {
                let mut bytes = begun(BEGIN, number);
                bytes.extend_from_slice(&(variables.len() as u32).to_le_bytes());
                for (name, value) in variables {
                    put_string(&mut bytes, name);
                    put_run(&mut bytes, value);
                }
                bytes
            }
            Self::Fetch {
                hash,
                deadline,
                patience,
            } => {
                let mut bytes = begun(FETCH, number);
                bytes.extend_from_slice(hash);
                bytes.extend_from_slice(&deadline.to_le_bytes());
                bytes.extend_from_slice(&patience.to_le_bytes());
                bytes
            }
            Self::Publish { hash } => [begun(PUBLISH, number).as_slice(), hash].concat(),
            Self::Expect { list } => [begun(EXPECT, number).as_slice(), list].concat(),
            Self::ExpectVerdicts { list, device } => {
                let mut bytes = [begun(EXPECT_VERDICTS, number).as_slice(), list].concat();
                put_string(&mut bytes, device.text());
                bytes
            }
            Self::Judged {
                list,
                device,
                hash,
                variant,
                ahead_of_time,
            } => {
                let mut bytes = [begun(JUDGED, number).as_slice(), list].concat();
                put_string(&mut bytes, device.text());
                bytes.extend_from_slice(hash);
                bytes.extend_from_slice(&variant.to_le_bytes());
                bytes.extend_from_slice(&ahead_of_time.to_le_bytes());
                bytes
            }
        }
    }

    /// Reads a message: its number, and what it says.
    ///
    /// # Errors
    /// When the bytes are no question of this version.
    pub fn parse(bytes: &'a [u8]) -> Result<(u32, Self), PacketError> {
        let mut fields = Fields::new(bytes);
        let (kind, number) = opened(&mut fields)?;
        let question = match kind {
            BEGIN => Self::Begin {
                variables: fields.table("the variables", |fields| {
                    Ok((fields.string("a name")?, fields.run("a value")?))
                })?,
            },
            FETCH => Self::Fetch {
                hash: fields.array("the hash")?,
                deadline: fields.u32("the deadline")?,
                patience: fields.u32("the patience")?,
            },
            PUBLISH => Self::Publish {
                hash: fields.array("the hash")?,
            },
            EXPECT => Self::Expect {
                list: fields.array("the list")?,
            },
            EXPECT_VERDICTS => Self::ExpectVerdicts {
                list: fields.array("the list")?,
                device: Device::of(fields.string("the device")?),
            },
            JUDGED => Self::Judged {
                list: fields.array("the list")?,
                device: Device::of(fields.string("the device")?),
                hash: fields.array("the hash")?,
                variant: fields.u64("the time of the variant")?,
                ahead_of_time: fields.u64("the time of the ahead-of-time code")?,
            },
            _ => return Err(Damage::at("the kind", 4).into()),
        };
        ended(&fields)?;
        Ok((number, question))
    }
}

impl<'a> Answer<'a> {
    /// The message's bytes. A reason is cut to what a message holds.
    pub fn encode(&self, number: u32) -> Vec<u8> {
        let with_reason = |kind, reason: &str| {
            let mut bytes = begun(kind, number);
            put_string(&mut bytes, &reason[..reason.floor_char_boundary(MOST_OF_REASON)]);
            bytes
        };
        match self {
            Self::Arrived => begun(ARRIVED, number),
            Self::Absent => begun(ABSENT, number),
            Self::Elsewhere => begun(ELSEWHERE, number),
            Self::Refused(reason) => with_reason(REFUSED, reason),
            Self::Failed(reason) => with_reason(FAILED, reason),
            Self::Late(reason) => with_reason(LATE, reason),
            Self::Ready => begun(READY, number),
            Self::NotPut(reason) => with_reason(NOT_PUT, reason),
            Self::Unusable(reason) => with_reason(UNUSABLE, reason),
            Self::Brought { batch, objects } => {
                let mut bytes = begun(BROUGHT, number);
                put_string(&mut bytes, batch);
                bytes.extend_from_slice(&(objects.len() as u32).to_le_bytes());
                for object in objects {
                    bytes.extend_from_slice(&object.hash);
                    bytes.extend_from_slice(&object.offset.to_le_bytes());
                    bytes.extend_from_slice(&object.size.to_le_bytes());
                }
                bytes
            }
            Self::Verdicts(count) => {
                let mut bytes = begun(VERDICTS, number);
                bytes.extend_from_slice(&count.to_le_bytes());
                bytes
            }
        }
    }

    /// Reads a message: its number, and what it says.
    ///
    /// # Errors
    /// When the bytes are no answer of this version.
    pub fn parse(bytes: &'a [u8]) -> Result<(u32, Self), PacketError> {
        let mut fields = Fields::new(bytes);
        let (kind, number) = opened(&mut fields)?;
        let answer = match kind {
            ARRIVED => Self::Arrived,
            ABSENT => Self::Absent,
            ELSEWHERE => Self::Elsewhere,
            REFUSED => Self::Refused(fields.string("the reason")?),
            FAILED => Self::Failed(fields.string("the reason")?),
            LATE => Self::Late(fields.string("the reason")?),
            READY => Self::Ready,
            NOT_PUT => Self::NotPut(fields.string("the reason")?),
            UNUSABLE => Self::Unusable(fields.string("the reason")?),
            BROUGHT => Self::Brought {
                batch: fields.string("the batch")?,
                objects: fields.table("the objects", |fields| {
                    Ok(InBatch {
                        hash: fields.array("a hash")?,
                        offset: fields.u64("an offset")?,
                        size: fields.u64("a size")?,
                    })
                })?,
            },
            VERDICTS => Self::Verdicts(fields.u32("the count")?),
            _ => return Err(Damage::at("the kind", 4).into()),
        };
        ended(&fields)?;
        Ok((number, answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: InBatch = InBatch {
        hash: [4; 32],
        offset: 1 << 40,
        size: 5,
    };

    #[test]
    fn what_is_written_is_read_and_nothing_shorter_or_longer() {
        let questions = [
            Question::Begin {
                variables: vec![("HOME", b"/\xff"), ("A", b"")],
            },
            Question::Fetch {
                hash: [1; 32],
                deadline: 50,
                patience: 7,
            },
            Question::Publish { hash: [2; 32] },
            Question::Expect { list: [3; 32] },
            Question::ExpectVerdicts {
                list: [4; 32],
                device: Device::Processor,
            },
            Question::Judged {
                list: [5; 32],
                device: Device::Gpu("NVIDIA A"),
                hash: [6; 32],
                variant: u64::MAX,
                ahead_of_time: 1 << 40,
            },
        ];
        for question in questions {
            let bytes = question.encode(9);
            assert_eq!(Question::parse(&bytes), Ok((9, question)));
            for length in 0..bytes.len() {
                assert!(Question::parse(&bytes[..length]).is_err());
            }
            assert!(Question::parse(&[&bytes[..], &[0]].concat()).is_err());
        }
        let answers = [
            Answer::Arrived,
            Answer::Absent,
            Answer::Elsewhere,
            Answer::Refused("a"),
            Answer::Failed(""),
            Answer::Late("l"),
            Answer::Ready,
            Answer::NotPut("n"),
            Answer::Unusable("é"),
            Answer::Brought {
                batch: "b",
                objects: vec![OBJECT; 2],
            },
            Answer::Verdicts(6),
        ];
        for answer in answers {
            let bytes = answer.encode(0);
            assert_eq!(Answer::parse(&bytes), Ok((0, answer)));
            for length in 0..bytes.len() {
                assert!(Answer::parse(&bytes[..length]).is_err());
            }
            assert!(Answer::parse(&[&bytes[..], &[0]].concat()).is_err());
        }
    }

    #[test]
    fn messages_fit_into_a_packet_and_another_version_is_refused() {
        let full = Answer::Brought {
            batch: &"b".repeat(255),
            objects: vec![OBJECT; MOST_OF_BATCH],
        };
        assert!(full.encode(1).len() <= MOST_BYTES);
        let reason = "é".repeat(MOST_BYTES);
        assert!(Answer::Failed(&reason).encode(1).len() <= MOST_BYTES);
        let device = Device::Gpu(&reason);
        let list = [0; 32];
        assert!(Question::ExpectVerdicts { list, device }.encode(1).len() <= MOST_BYTES);
        let mut other = Answer::Arrived.encode(1);
        other[0] ^= 1;
        assert_eq!(Answer::parse(&other), Err(PacketError::OtherVersion));
    }
}
