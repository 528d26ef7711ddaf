"""Short word problems, written for this study, as chats: one system sentence, one question."""

from __future__ import annotations

from mindshare.prompts import Prompt

SYSTEM = "You are a careful tutor. Reason step by step and give the final answer as a number."

PROBLEMS = (
    "A baker fills 14 trays with 12 rolls each and sells 95 rolls before noon. How many rolls "
    "are left?",
    "Nora reads 18 pages on every weekday and 35 pages on each day of the weekend. How many "
    "pages does she read in one week?",
    "A tank holds 240 litres. A pump empties 16 litres a minute. After how many minutes is a "
    "quarter of the water left?",
    "Three friends share a bill of 87 euros equally and each adds a tip of 2 euros. What does "
    "each of them pay?",
    "A train leaves at 9:40 and arrives at 13:05 after waiting 25 minutes at a signal. How "
    "many minutes was it moving?",
    "Omar has twice as many stamps as Lena, and together they have 171. How many stamps does "
    "Lena have?",
    "A rectangular garden is 7 metres longer than it is wide, and its fence is 54 metres long. "
    "How wide is it?",
    "A shop lowers the price of a lamp from 80 to 68 euros. By how many percent did the price "
    "fall?",
    "Each of 6 boxes holds 4 bags, and each bag holds 15 marbles. If 48 marbles are blue, how "
    "many are not?",
    "A cyclist rides 45 kilometres at 18 kilometres an hour and then rests for half an hour. "
    "How many minutes pass in all?",
    "The sum of three consecutive numbers is 132. What is the largest of them?",
    "A recipe for 4 people needs 300 grams of rice. How many grams are needed for 10 people?",
    "A farmer has hens and goats, 30 animals with 84 legs in total. How many goats are there?",
    "A ribbon of 5 metres is cut into pieces of 35 centimetres. How many centimetres are left "
    "over?",
    "Maya saves 12 euros a week and already has 46. After how many weeks can she buy a bicycle "
    "for 190 euros?",
    "In a class of 28 pupils, 17 play chess, 15 sing, and 6 do neither. How many do both?",
    "A clock loses 4 minutes every 3 hours. How many minutes does it lose from Monday noon to "
    "Wednesday noon?",
    "Two numbers differ by 9 and their product is 112. What is the smaller one, if both are "
    "positive?",
    "A printer makes 24 pages a minute, an older one 16. How many minutes do both together "
    "need for 600 pages?",
    "A ladder of 13 metres leans on a wall, its foot 5 metres away from it. How high does it "
    "reach?",
    "Ines buys 3 pens and 2 notebooks for 19 euros; a notebook costs 5 euros. What does a pen "
    "cost?",
    "A bus starts with 31 passengers. At each of 5 stops 4 get off and 7 get on. How many are "
    "on the bus then?",
    "Half of a number, increased by a third of it, makes 65. What is the number?",
    "A wall of 9 by 4 metres has a window of 2 by 3 metres. One litre of paint covers 6 square "
    "metres. How many litres are needed?",
)


def problem_prompts(limit: int | None = None) -> list[Prompt]:
    """The problems as chats, named problem-01, problem-02, …"""
    return [
        Prompt.from_chat(
            [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}],
            id=f"problem-{number:02d}",
        )
        for number, question in enumerate(PROBLEMS[:limit], start=1)
    ]
